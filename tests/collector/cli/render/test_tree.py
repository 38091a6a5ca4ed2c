"""The tree that people see: every run once, every finding once, at its span, and nothing that content can break."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from sizes import sized

from tracejury.collector.cli.render.tables import counts, moment
from tracejury.collector.cli.render.tree import _score, run_of, trace_tree
from tracejury.schemas.wire.errors import ErrorJson
from tracejury.schemas.wire.traces import AgentRunJson, TokensJson, ToolCallJson, TraceJson, TurnJson, VerdictJson


def run(run_id: str, parent: str | None = None, turns: list[TurnJson] | None = None, **changes: Any) -> AgentRunJson:
    found = AgentRunJson(
        id=run_id,
        name=f"agent-{run_id}",
        role="sub-agent" if parent else "manager",
        span_id=f"span-{run_id}",
        parent_id=parent,
        parent_turn=None,
        goal="",
        answer="",
        status="ok",
        turns=turns or [],
    )
    return found.model_copy(update=changes)


def turn(index: int, llm: str | None, *calls: ToolCallJson, below: tuple[str, ...] = ()) -> TurnJson:
    return TurnJson(index=index, kind="act", llm_span_id=llm, text="", tool_calls=list(calls), sub_run_ids=list(below))


def call(name: str, **changes: Any) -> ToolCallJson:
    found = ToolCallJson(
        name=name,
        arguments=None,
        result=None,
        requested=True,
        executed=True,
        error=None,
        span_id=f"span-{name}",
        call_id=None,
        sub_run_id=None,
    )
    return found.model_copy(update=changes)


def error(number: int, span_id: str, **changes: Any) -> ErrorJson:
    found = ErrorJson(
        id=f"e{number}",
        trace_id="t",
        shown_trace_id="t",
        span_id=span_id,
        agent_run_id=None,
        turn=None,
        service="svc",
        agent=None,
        title=f"Title {number}.",
        cause="failed-call",
        judge="rule",
        judges=["rule"],
        dimension="TC",
        dimensions=["TC"],
        taxonomy="trail",
        category="Formatting Errors",
        severity="HIGH",
        confidence=0.5,
        evidence=f"quote-{number}.",
        explanation="why",
        shown_at=None,
        read_at=None,
        repeated_at=[],
        finding_ids=[f"f{number}"],
        state="current",
        first_seen=None,
        unproven_on_service=False,
    )
    return found.model_copy(update=changes)


def trace(runs: list[AgentRunJson], errors: list[ErrorJson]) -> TraceJson:
    return TraceJson(
        trace_id="t",
        trace_ids=["t"],
        session_id=None,
        service="svc",
        state="settled",
        spans=3,
        start=None,
        end=None,
        conventions=[],
        tokens=TokensJson(input=None, output=None, llm_calls=0),
        agent_runs=runs,
        remainder=[],
        errors=errors,
        findings=[],
        verdicts=[],
    )


def shown(value: TraceJson) -> str:
    console = Console(width=500, color_system=None)
    with console.capture() as capture:
        console.print(trace_tree(value))
    return capture.get()


def lines_below(text: str, heading: str) -> str:
    """The first line with `heading` and what is indented under it."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if heading in line)
    depth = lines[start].index(heading)
    end = next((i for i in range(start + 1, len(lines)) if lines[i][:depth].strip(" │") != ""), len(lines))
    return "\n".join(lines[start:end])


def test_errors_hang_under_their_spans() -> None:
    """At the agent, the turn, the tool call; what stands nowhere in the runs comes at the end, not lost."""
    runs = [run("a", turns=[turn(0, "llm-0", call("search")), turn(1, "llm-1", below=("b",))]), run("b", "a")]
    spans = ["span-a", "llm-0", "span-search", "span-b", "elsewhere"]
    text = shown(trace(runs, [error(i, span) for i, span in enumerate(spans)]))
    assert "  3 spans, 2 agent runs, 5 errors" in text
    assert "quote-1." in lines_below(text, "turn 0 act")
    assert "quote-2." in lines_below(text, "tool search")
    assert "quote-3." in lines_below(text, "agent-b")
    assert "quote-4." in lines_below(text, "outside the agents' turns")
    assert all(text.count(f"quote-{i}.") == 1 for i in range(len(spans)))


@pytest.mark.parametrize("label", [None, "right", "contested", "of a later version"])
def test_what_people_say_of_an_error_is_shown(label: str | None) -> None:
    text = shown(trace([run("r")], [error(1, "s", human_label=label)]))
    assert ("contested: people contradict each other" in text) == (label == "contested")
    assert ("people say that it is right" in text) == (label == "right")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, ""),
        ({"verification": "verified", "verified_by": "m"}, "verified by m"),
        (
            {"verification": "refuted", "verified_by": "m", "verification_reason": "S3\x1b[2J\nsays so."},
            r"refuted by m: S3\x1b[2J says so.",
        ),
        ({"verification": "unverified", "verification_reason": "over budget"}, "not verified: over budget"),
    ],
)
def test_what_another_judge_says_of_an_error_is_shown_in_words(said: dict[str, str], told: str) -> None:
    text = shown(trace([run("r")], [error(1, "s", **said)]))
    assert told in " ".join(text.split())
    assert ("verified" in text or "refuted" in text) is bool(said)
    assert "\x1b" not in text


def test_an_error_shows_at_each_of_its_spans() -> None:
    """In full where it was decided; elsewhere its title, its role there, and where it was decided."""
    runs = [run("a", turns=[turn(0, "llm-0", call("search")), turn(1, "llm-1"), turn(2, "llm-2")])]
    places = {"shown_at": "span-search", "read_at": "llm-1", "repeated_at": ["llm-2", "nowhere"]}
    text = shown(trace(runs, [error(0, "llm-0", **places)]))
    assert text.count("quote-0.") == 1
    head = "HIGH Title 0. (tool calling; Output generation: formatting errors)  span llm-0"
    assert head in lines_below(text, "turn 0 act")
    assert "shown at span-search; read at llm-1; also at llm-2, nowhere" in text
    for place, role in (("tool search", "shown"), ("turn 1 act", "read"), ("turn 2 act", "repeated")):
        assert f"{role} here: Title 0.  span llm-0" in lines_below(text, place)
    assert "outside the agents' turns" not in text


def test_a_sub_agent_hangs_under_the_turn_that_started_it() -> None:
    """And the call that did; under its parent's run where no turn names it, at the top where that is not known."""
    first = turn(0, "l", call("delegate", sub_run_id="e"), below=("b", "e"))
    runs = [run("a", turns=[first]), run("b", "a"), run("c", "a"), run("d", "gone"), run("e", "a")]
    text = shown(trace(runs, []))
    assert "agent-e" in lines_below(text, "tool delegate")
    assert "agent-b" not in lines_below(text, "tool delegate")
    assert "agent-b" in lines_below(text, "turn 0 act")
    assert "agent-c" in lines_below(text, "agent-a")
    assert "agent-d" not in lines_below(text, "agent-a")
    assert "agent-d" in text


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"error": "boom"}, "failed: boom"),
        ({"error": ""}, "failed: "),
        ({"executed": False}, "asked for, not run"),
        ({"result": "42"}, "→ 42"),
    ],
)
def test_what_became_of_a_tool_call_is_said(changes: dict[str, Any], part: str) -> None:
    """Failed, never run, or its result."""
    assert part in shown(trace([run("a", turns=[turn(0, None, call("t", **changes))])], []))


_ids = st.sampled_from("abcdef")


@settings(max_examples=sized(40, 200))
@given(st.lists(st.tuples(_ids, st.none() | _ids, st.lists(_ids, max_size=3)), unique_by=lambda r: r[0]))
def test_any_shape_of_runs_ends_and_shows_each_once(shape: list[tuple[str, str | None, list[str]]]) -> None:
    """Cycles of parents, runs that start themselves, runs named by several turns: each run stands in the tree once."""
    runs = [
        run(name, parent, [turn(0, None, *(call("t", sub_run_id=b) for b in below[:1]), below=tuple(below))])
        for name, parent, below in shape
    ]
    text = shown(trace(runs, [error(i, f"span-{name}") for i, (name, _, _) in enumerate(shape)]))
    for i, (name, _, _) in enumerate(shape):
        assert text.count(f"agent-{name} (") == 1
        assert text.count(f"quote-{i}.") == 1


def test_a_chain_of_sub_agents_of_any_depth_is_shown() -> None:
    """Hostile depth neither fails nor hides a run."""
    runs = [run(str(i), str(i - 1) if i else None) for i in range(2_000)]
    text = shown(trace(runs, []))
    assert text.count("agent-") == 2_000


@given(st.text(st.characters(codec=None)))
def test_no_content_reaches_the_terminal_as_a_control(text: str) -> None:
    """Names, goals, results and quotes are shown as text whatever they hold."""
    hostile = error(0, "span-a").model_copy(
        update={
            "evidence": text,
            "category": text,
            "explanation": text,
            "judges": [text],
            "title": text,
            "shown_at": text,
        }
    )
    value = trace(
        [run("a", goal=text, answer=text, name=text, turns=[turn(0, None, call(text, result=text))])], [hostile]
    )
    assert not {c for c in shown(value) if c < " " and c != "\n"}


def test_counts_and_times_for_people() -> None:
    """The worst first; zero says nothing; times to the second."""
    assert counts({"LOW": 1, "MEDIUM": 0, "HIGH": 2}).plain == "2 HIGH 1 LOW"
    assert counts({"LOW": 0, "MEDIUM": 0, "HIGH": 0}).plain == "-"
    assert moment("2026-11-20T10:09:46.123456Z").plain == "2026-11-20 10:09:46Z"
    assert moment(None).plain == "-"


@pytest.mark.parametrize(
    ("sent", "written", "told"),
    [(None, None, ""), (1234, 0, ", tokens: 1,234 in, 0 out"), (None, 5, ", tokens: 5 out")],
)
def test_the_title_tells_the_tokens_that_are_known(sent: int | None, written: int | None, told: str) -> None:
    """Nothing where no call recorded any."""
    value = trace([run("a")], [])
    value = value.model_copy(update={"tokens": TokensJson(input=sent, output=written, llm_calls=1)})
    assert shown(value).splitlines()[0].rstrip().endswith(f"0 errors{told}")


def test_a_trace_without_agents_says_so() -> None:
    """An empty tree would look like lost spans."""
    assert "no agent recognised" in shown(trace([], []))
    assert "no agent recognised" not in shown(trace([run("a")], []))


def test_scores_stand_under_their_runs() -> None:
    """On one line a run; what is about no run that is known comes at the end."""
    text = shown(
        trace([run("a"), run("b", "a")], []).model_copy(
            update={
                "verdicts": [
                    verdict("tool-calling", "a", score=3),
                    verdict("goal-fulfilment", "a", score=0),
                    verdict("plan-quality", "a", not_applicable=True),
                    verdict("tool-calling", "b", unscored_reason="the model\x1b[2J did not answer"),
                    verdict("tool-calling", "gone", score=1),
                ]
            }
        )
    )
    assert "scores: goal-fulfilment 0 of 3, plan-quality not applicable, tool-calling 3 of 3\n" in text
    assert "scores: tool-calling unscored: the model\\x1b[2J did not answer\n" in text
    assert text.index("verdict tool-calling  1 of 3") > text.index("unscored")
    assert "\x1b" not in text


def test_a_verdict_without_its_quote_says_so() -> None:
    """Beside its score."""
    marked = _score(verdict("goal", "r", score=1, quote_dropped=True))
    assert (marked.plain, _score(verdict("goal", "r", score=1)).plain) == ("1 of 3 (its quote was dropped)", "1 of 3")


def test_a_check_shows_its_value() -> None:
    """Instead of a score; of an exchange below its run."""
    assert _score(verdict("state", "r", value=2 / 3)).plain == "0.667"
    of_exchange = verdict("state", "a", value=0.5, subject={"kind": "exchange", "id": "r:0-4", "trace_id": "t"})
    assert run_of(of_exchange) == "r"


def verdict(judge: str, run_id: str, **changes: Any) -> VerdictJson:
    value: dict[str, Any] = {
        "judge": judge, "version": "v", "model": "m", "subject": {"kind": "agent-run", "id": run_id, "trace_id": "t"},
        "score": None, "not_applicable": False, "unscored_reason": None, "reasons": "", "sampling_probability": 1.0,
        "quote_dropped": False, "value": None, "raw": None, "numerator": 0, "denominator": 0, "items": [],
    }  # fmt: skip
    return VerdictJson.model_validate(value | changes)
