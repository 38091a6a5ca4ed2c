"""What every detector must keep, whoever wrote it: one suite for all of them."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import pytest
from faulty_traces import FAULTY, healthy
from small_traces import TRACE_ID, Did, Said, run, trace, without_content

from tracejury.judges.base import Context, Detector
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.evidence import MAX_EVIDENCE, OwnText
from tracejury.judges.rule import RunRule
from tracejury.judges.suite import Suite
from tracejury.judges.validate_draft import validation_error
from tracejury.schemas.findings import Draft
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES
from tracejury.schemas.trajectory import AgentRun, KnownRuns, Trace, TraceState, TurnKind

BOUND = 20.0
"""Seconds of processor time that hostile input may cost at most: a guard against explosions, not a benchmark."""

EMPTY = Trace(TRACE_ID, "", "shop", "", TraceState.SETTLED, (), {}, ())

every = pytest.mark.parametrize("detector", BUILT_IN, ids=lambda d: d.name)


def drafts(detector: Detector, ctx: Context) -> list[Draft]:
    """What a detector says of a trace."""
    return list(detector.detect(ctx.trace, ctx))


# Reading a trace costs more than most detectors do: as in a suite, all of them share what was read.
@cache
def passes() -> list[tuple[str, list[Context]]]:
    """Each faulty trace as it is before any detector sees it, and three passes over it, the last with known runs."""
    found = []
    for faulty in FAULTY.values():
        known = KnownRuns()
        found.append((repr(faulty), [Context(faulty), Context(faulty, known), Context(faulty, known)]))
    return found


@cache
def blanked() -> list[Context]:
    """The faulty traces with content capture off."""
    return [Context(without_content(faulty)) for faulty in FAULTY.values()]


@cache
def orders() -> list[tuple[Context, Context]]:
    """Each faulty trace with the runs of a healthy one, in one order and in the other."""
    found = []
    for faulty in FAULTY.values():
        other = healthy()
        together = trace(*faulty.runs, *(_renamed(r.id, other) for r in other.runs))
        found.append((Context(together), Context(replace(together, runs=tuple(reversed(together.runs))))))
    return found


@every
def test_it_is_a_detector(detector: Detector) -> None:
    """It has a stable name in lower case with hyphens, and a version."""
    assert isinstance(detector, Detector)
    assert detector.name == detector.name.lower().replace("_", "-").strip()
    assert detector.version >= 1


def test_titles_are_short_and_unique_to_a_kind_of_error() -> None:
    titles = {d.name: getattr(d, "title", "") for d in BUILT_IN}
    assert not [name for name, title in titles.items() if not title or len(title) > 60 or title.endswith(".")]
    assert all(title[0].isupper() and title not in TRAIL_CATEGORIES for title in titles.values())


@every
def test_it_says_nothing_of_an_empty_trace(detector: Detector) -> None:
    """Nothing happened, so nothing is wrong; nor in runs without turns, ended or not."""
    assert drafts(detector, Context(EMPTY)) == []
    assert drafts(detector, Context(trace(run("r1"), run("r2", ended=False)))) == []


@every
def test_what_was_not_recorded_is_no_error(detector: Detector) -> None:
    """The same traces with content capture off are clean: missing instrumentation is not the agent's error."""
    if detector.name == "runaway":
        pytest.skip("counts turns, whose content it does not need")
    for ctx in blanked():
        assert drafts(detector, ctx) == []


@every
def test_it_is_deterministic_and_pure(detector: Detector) -> None:
    """Each pass says the same, whether its runs are known or not, and leaves the trace as it was."""
    for before, (first, *others) in passes():
        once = drafts(detector, first)
        assert [drafts(detector, ctx) for ctx in others] == [once, once]
        assert repr(first.trace) == before


@every
def test_the_order_of_runs_does_not_matter(detector: Detector) -> None:
    """Runs of a trace are judged each by its own turns, whatever stands before them."""
    for contexts in orders():
        together, turned = (sorted(map(repr, drafts(detector, ctx))) for ctx in contexts)
        assert together == turned


def _renamed(run_id: str, whole: Trace) -> AgentRun:
    agent_run = next(r for r in whole.runs if r.id == run_id)
    turns = tuple(
        replace(
            turn,
            llm=replace(turn.llm, raw=replace(turn.llm.raw, span_id=f"h-{turn.llm.span_id}")) if turn.llm else None,
            tool_calls=(),
            sub_run_ids=(),
        )
        for turn in agent_run.turns
    )
    return replace(agent_run, id=f"h-{run_id}", span=None, turns=turns)


@every
def test_every_draft_is_valid_and_quotes_its_span(detector: Detector) -> None:
    """Its span exists, its category is one of its taxonomy, and its quote stands in that span's own text."""
    for _, (ctx, *_others) in passes():
        own = OwnText(ctx.trace)
        for draft in drafts(detector, ctx):
            assert validation_error(draft, ctx.trace.spans) == ""
            assert own.settle(draft.span_id, draft.evidence) == draft.span_id
            assert len(draft.evidence) <= MAX_EVIDENCE


@every
def test_only_closed_turns_of_open_traces_are_judged(detector: Detector) -> None:
    """While a trace is open, no finding stands at a turn that may still go on."""
    for faulty in FAULTY.values():
        whole = faulty
        agent_run = whole.runs[0]
        last = replace(agent_run.turns[-1], closed=False)
        live = trace(replace(agent_run, turns=(*agent_run.turns[:-1], last), span=None), state=TraceState.OPEN)
        places = {last.llm.span_id if last.llm else "", *(c.span.span_id for c in last.tool_calls if c.span)}
        result = Suite([detector]).judge(live)
        assert result.failures == ()
        assert not {f.span_id for f in result.findings} & places


BOMBS = (
    "a" * 1_000_000,
    "error " * 150_000,
    "((((" * 250_000,
    "1." * 400_000,
    "a*a " * 200_000 + "\n",
    "\n" * 500_000,
    "[" * 100_000 + "]" * 100_000,
    "plan: web_search " * 50_000,
    "\ud800 lone surrogate \U0001f600 İİİ " * 20_000,
    "%s%n{0}{}<script>' OR 1=1 --\x1b[31m" * 20_000,
)


@every
def test_hostile_text_costs_a_bounded_time(detector: Detector) -> None:
    """Megabytes of text made to blow up patterns, as output, argument, result and error, end in bounded time."""
    start = time.process_time()
    for bomb in BOMBS:
        turns = (
            Said("p1", bomb, kind=TurnKind.PLAN),
            Said("a1", bomb, [Did("web_search", {"query": bomb}, bomb, None, "t1")], [bomb]),
            Said("a2", bomb, [Did("open_file", {"path": bomb}, None, bomb, "t2")], [bomb], step_error=bomb),
            Said("a3", bomb, [Did("final_answer", {"answer": bomb}, span_id="t3")], [bomb]),
        )
        result = Suite([detector]).judge(trace(run("r1", *turns, goal=bomb, answer=bomb, max_steps=1)))
        assert result.failures == ()
        assert result.dropped == 0
    assert time.process_time() - start < BOUND


def test_a_trace_of_ten_thousand_spans_costs_a_bounded_time() -> None:
    """Work grows with the number of turns, not with its square: all detectors together stay below the bound of one."""
    whole = _long()
    start = time.process_time()
    result = Suite(BUILT_IN).judge(whole)
    assert result.failures == ()
    assert time.process_time() - start < BOUND


def _long() -> Trace:
    """Ten thousand spans: plans, failures of ever new paths, assumptions and answers, over and over."""
    plan = Said("p", "1. Use open_file on report.pdf.\n2. Use web_search.", kind=TurnKind.PLAN)
    error = "FileNotFoundError: no such file or directory"
    turns = []
    for i in range(2400):
        did = Did("open_file", {"path": f"report_{i}.pdf"}, None, error, f"t{i}")
        turns += [replace(plan, span_id=f"p{i}")] if i % 5 == 0 else []
        turns.append(Said(f"a{i}", "I will assume that it is there instead.", [did], [error]))
        turns.append(Said(f"b{i}", "It is 4, I guess.", [Did("final_answer", {"answer": f"{i}"}, "ok", None, f"f{i}")]))
    whole = trace(run("r1", *turns))
    assert len(whole.spans) > 10_000
    return whole


@every
def test_a_rule_of_failures_finds_nothing_where_nothing_failed(detector: Detector) -> None:
    """It is not even run there, so that it must not matter."""
    if not isinstance(detector, RunRule) or not detector.of_failure:
        pytest.skip("looks at all runs")
    contexts = [Context(healthy()), *(contexts[0] for _, contexts in passes())]
    untroubled = [(facts, ctx) for ctx in contexts for facts in ctx.facts.values() if not facts.troubled]
    assert len(untroubled) > 1
    for facts, ctx in untroubled:
        assert not list(detector.find(facts, ctx))
