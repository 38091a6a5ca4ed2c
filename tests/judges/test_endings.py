"""Failed runs: which ones count, of what kind, where the failure arose and how severe it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Did, Said, raw, run, tool, trace

from tracejury.judges.endings import EndKind, end_kind, endings
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, Trace

ASK = tool("ask", ("task",), task="string")
DOWN = "backend returned 503 for the query"


def shown(whole: Trace) -> list[Finding]:
    """Findings of a balanced reader that say how a run ended."""
    result = suite_of(()).judge(whole)
    assert result.failures == ()
    found = [f for f in result.findings if f.judge.startswith("run-") or f.judge == "empty-answer"]
    return [f for f in found if f.confidence >= threshold("balanced")]


def worker(error: str = DOWN, call_error: str | None = DOWN) -> AgentRun:
    """A sub-agent whose only call fails, and which fails with `error`."""
    said = Said("w1", "Searching.", [Did("search", {"query": "year"}, None, call_error, "wt")])
    return run("r2", said, role="sub-agent", parent_id="r1", error=error)


def manager(*later: Said, error: str = "", call_error: str | None = DOWN) -> AgentRun:
    """A manager that asks the sub-agent, then takes the later turns."""
    asking = Said("m1", "Asking.", [Did("ask", {"task": "the year"}, None, call_error, "mt", sub_run_id="r2")])
    return run("r1", asking, *later, tools=[ASK], error=error)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Max turns exceeded: {'max_turns': 12}", EndKind.LIMIT),
        ("GraphRecursionError('Recursion limit of 25 reached without hitting a stop condition.", EndKind.LIMIT),
        ("Max number of llm calls limit of `1` exceeded", EndKind.LIMIT),
        ("The next request would exceed the request_limit of 50", EndKind.LIMIT),
        ("Agent stopped due to iteration limit or time limit.", EndKind.LIMIT),
        ("Max iterations of 20 reached! Either something went wrong or you can increase it", EndKind.LIMIT),
        ("maximum context length is 8192 tokens", EndKind.LIMIT),
        ("TimeoutError: the operation timed out", EndKind.TIMEOUT),
        ("asyncio.exceptions.CancelledError: Cancelled via cancel scope", EndKind.CANCELLED),
        ("Error code: 429 - Rate limit reached for requests", EndKind.CRASH),
        ("HTTPConnectionPool: Max retries exceeded with url: /v1 (connection refused)", EndKind.CRASH),
        ("Der Dienst antwortet nicht", EndKind.CRASH),
        ("", EndKind.CRASH),
    ],
)
def test_the_message_names_the_kind(message: str, kind: EndKind) -> None:
    """An unknown message is a crash; a provider's limit of rate is none of the run's."""
    assert end_kind(message) is kind


def test_a_failed_run_is_severe_and_quotes_its_message() -> None:
    """At its own span, in its last turn, beside what it did before."""
    said = Said("a1", "Searching.", [Did("search", {"query": "year"}, "a page", span_id="t1")])
    (found,) = shown(trace(run("r1", said, error="Max turns exceeded: {'max_turns': 12}")))
    assert (found.judge, found.severity, found.span_id) == ("run-limit", Severity.HIGH, "r1")
    assert found.evidence == "Max turns exceeded: {'max_turns': 12}"
    assert (found.agent_run_id, found.turn, found.tool_span_id) == ("r1", 0, "")


def test_a_failure_without_a_message_counts() -> None:
    """The status alone says so; then the span's name is all there is to quote."""
    failed = run("r1", Said("a1", "Searching."), error="x")
    assert failed.span is not None
    mute = replace(failed, span=replace(failed.span, raw=replace(failed.span.raw, status_message="")))
    (found,) = shown(trace(mute))
    assert (found.judge, found.evidence) == ("run-crashed", "agent.run")


def test_an_exception_carried_upwards_is_one_failure() -> None:
    """Told once, at the innermost run, with the call that failed; the delegating call is not blamed again."""
    whole = trace(manager(error=DOWN), worker())
    (found,) = shown(whole)
    assert (found.span_id, found.tool_span_id, found.severity) == ("r2", "wt", Severity.HIGH)
    assert not {"m1", "mt"} & {f.span_id for f in suite_of(()).judge(whole).findings}


def test_a_relayed_failure_may_be_worded_anew() -> None:
    """A manager that ends in the step in which its sub-agent failed ended by that, whatever its own message says."""
    (found,) = shown(trace(manager(error="RemoteDisconnected: closed without response"), worker()))
    assert found.span_id == "r2"


def test_a_failure_that_the_manager_handled_cost_a_step() -> None:
    """The manager goes on and answers."""
    (found,) = shown(trace(manager(Said("m2", "It was 1937.", sees=["It failed."])), worker()))
    assert (found.span_id, found.severity) == ("r2", Severity.MEDIUM)


def test_two_failures_are_two() -> None:
    """A manager that hits its limit right after its sub-agent failed has a failure of its own."""
    found = shown(trace(manager(error="Max turns exceeded"), worker()))
    assert {(f.span_id, f.judge, f.severity) for f in found} == {
        ("r1", "run-limit", Severity.HIGH),
        ("r2", "run-crashed", Severity.MEDIUM),
    }


def test_a_failing_model_that_ended_the_run_is_named() -> None:
    """The LLM call is where it showed."""
    failing = Said("a1", "", llm_error="InternalServerError: overloaded")
    (found,) = shown(trace(run("r1", failing, error="InternalServerError: overloaded")))
    assert (found.span_id, found.tool_span_id, found.severity) == ("r1", "a1", Severity.HIGH)


def test_a_failed_root_around_a_run_without_an_answer_counts() -> None:
    """A run whose own span says nothing, below a root that failed; with an answer, the root's failure is another's."""
    silent = run("r1", Said("a1", "Searching.", [Did("search", {"query": "year"}, "a page", span_id="t1")]))
    root = NormalizedSpan(raw("root", "job", error="Recursion limit of 25 reached"), Kind.CHAIN, "test")
    assert silent.span is not None

    def below(one: AgentRun) -> Trace:
        assert one.span is not None
        span = replace(one.span, raw=replace(one.span.raw, parent_span_id="root"))
        whole = trace(replace(one, span=span))
        return replace(whole, spans={**whole.spans, "root": root}, remainder=(root,))

    (found,) = shown(below(silent))
    assert (found.judge, found.span_id, found.agent_run_id) == ("run-limit", "root", "r1")
    assert shown(below(replace(silent, answer="1937"))) == []


def test_what_goes_on_or_was_killed_has_not_failed() -> None:
    """A run without an end says nothing of how it ended."""
    assert endings(trace(run("r1", Said("a1", "Searching."), ended=False))) == {}


def test_an_empty_reply_at_the_end_is_no_answer() -> None:
    """Severe where the user gets nothing; not where replies were never recorded, or an answer is."""
    search = Said("a1", "Searching.", [Did("search", {"query": "year"}, "a page", span_id="t1")])
    empty = Said("a2", "", sees=["a page"], finish_reasons=("stop",))
    (found,) = shown(trace(run("r1", search, empty)))
    assert (found.judge, found.span_id, found.severity) == ("empty-answer", "a2", Severity.HIGH)
    assert shown(trace(run("r1", search, empty, answer="1937"))) == []
    assert shown(trace(run("r1", search, replace(empty, finish_reasons=())))) == []
    assert shown(trace(run("r1", Said("a1", sees=["a question"], finish_reasons=("stop",))))) == []
    assert shown(trace(run("r1", search, empty, ended=False))) == []


def test_the_failed_step_of_a_run_without_an_answer_is_its_end() -> None:
    """Some agents' spans do not tell of it; a run that answers all the same went on."""
    broken = run("r1", Said("a1", "", [Did("sing", {"a": 1}, None, executed=None)], step_error="Tool not found: sing"))
    result = suite_of(()).judge(trace(broken))
    assert {(f.judge, f.span_id, f.severity) for f in result.findings} == {
        ("run-crashed", "a1-step", Severity.HIGH),
        ("unknown-tool", "a1", Severity.MEDIUM),
    }
    assert shown(trace(replace(broken, answer="1937"))) == []
