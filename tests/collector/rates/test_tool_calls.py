"""Rates of tools by their own calls, over the real store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from store_parts import a_finding, a_judged_subject, a_judged_trace, a_run
from trajectories import fixture_spans, normalise_all

from tracejury.collector.rates import StoredRates
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.rates import By, Population, RateQuery
from tracejury.schemas.taxonomy import Dimension
from tracejury.schemas.trajectory import ToolCall, Turn, TurnKind
from tracejury.schemas.verdicts import JudgedTrace, Outcome, Subject, SubjectKind

T0 = 497_232 * HOUR
EVER = RateQuery(0, 2**63 - 1)


def span_of(name: str, kind: str) -> NormalizedSpan:
    entry = {"id": name, "attributes": {"openinference.span.kind": kind}}
    return normalise_all(fixture_spans({"spans": [entry]})[0])[0]


def spent(number: int) -> str:
    return f"{number:032x}"


def trace(
    number: int, tools: Sequence[str], *findings: Finding, asked: str = "", service: str = "shop", joined_to: str = ""
) -> JudgedTrace:
    """Tool `t<i>` spans are the calls of `tools`; `asked`: a tool that the LLM span `l` asked for, without a span."""
    calls = [
        ToolCall(tool, None, None, requested=None, executed=True, error=None, span=span_of(f"t{i}", "TOOL"))
        for i, tool in enumerate(tools)
    ]
    turns = [Turn(0, TurnKind.ACT, None, tuple(calls))]
    if asked:
        wish = ToolCall(asked, None, None, requested=True, executed=False, error=None, span=None)
        turns.append(Turn(1, TurnKind.ACT, span_of("l", "LLM"), (wish,)))
    return a_judged_trace(
        *findings, trace_id=spent(number), judged_at=T0, received=T0, runs=(a_run(turns=tuple(turns)),),
        service=service, joined_to=joined_to,
    )  # fmt: skip


def error(number: int, place: str, *, shown: str = "", confidence: float = 0.9) -> Finding:
    """A finding made at the span of that name; it showed at another one, perhaps."""
    return a_finding(
        trace_id=spent(number), span_id=span_of(place, "TOOL").span_id, confidence=confidence,
        tool_span_id=span_of(shown, "TOOL").span_id if shown else "", dimensions=(Dimension.TOOL_CALLING,),
        evidence=f"{place} {shown}",
    )  # fmt: skip


def told(store: SharedStore, query: RateQuery = EVER, limit: int = 10) -> list[tuple[str, int, int]]:
    """Tool, calls with an error, calls."""
    found = StoredRates(store, rules=("loops",)).calls(
        RateQuery(query.since, query.until, population=query.population, profile=query.profile, service=query.service,
                  limit=limit)
    )  # fmt: skip
    return [(row.key, row.rate.hits, row.rate.judged) for row in found.rows]


def test_a_tool_counts_its_own_calls(store: SharedStore) -> None:
    """Runs that never called it are in no denominator, and two errors at one call are one call."""
    twice = (error(1, "t0"), error(1, "l", shown="t0"))
    StoredJudging(store).save(
        [
            trace(1, ["search", "search", "book"], *twice),
            trace(2, ["search", "book"]),
            *(trace(n, ["other"]) for n in range(3, 9)),
        ]
    )
    assert told(store) == [("search", 1, 3)]
    rates = StoredRates(store, rules=("loops",))
    (of_runs,) = rates.ask(RateQuery(0, 2**63 - 1, by=By.TOOL)).rows
    assert (of_runs.rate.hits, of_runs.rate.judged) == (1, 8)  # the rates of the API stay those of runs
    (row,) = rates.calls(EVER).rows
    assert row.rate.share is not None
    assert row.rate.share.value == pytest.approx(1 / 3)
    assert row.rate.share.low < 1 / 3 < row.rate.share.high


def test_a_call_counts_once_however_many_runs_its_trace_has(store: SharedStore) -> None:
    """A trace with a manager and two sub-agents has three runs, and each of nine traces is a cluster of its own."""
    runs = [a_run(id=f"run-{n}", parent_id="run-1" if n > 1 else "") for n in (2, 3)]
    of_one = [trace(n, ["search"], error(n, "t0")) for n in range(1, 10)]
    StoredJudging(store).save([replace(one, trace=replace(one.trace, runs=(*one.trace.runs, *runs))) for one in of_one])
    assert told(store) == [("search", 9, 9)]
    (row,) = StoredRates(store, rules=("loops",)).calls(EVER).rows
    assert row.rate.share is not None
    assert row.rate.share.low == pytest.approx(0.701, abs=1e-3)  # Wilson's interval of 9 of 9


def test_findings_of_packs_are_in_no_rate_of_calls(store: SharedStore) -> None:
    """Nothing changes for tools because a pack was switched on."""
    found = replace(error(1, "t0"), judge="club-tools", taxonomy="club")
    StoredJudging(store).save([trace(1, ["search"], found)])
    assert told(store) == []


def test_a_call_without_a_span_counts_where_it_was_asked_for(store: SharedStore) -> None:
    """One that was recorded on both sides is one call."""
    StoredJudging(store).save(
        [trace(1, [], error(1, "l"), asked="search"), trace(2, ["search"], error(2, "l", shown="t0"), asked="search")]
    )
    assert told(store) == [("search", 2, 2)]


def test_the_worst_come_first_and_the_others_are_counted(store: SharedStore) -> None:
    """By share; errors below the profile do not count, other services neither."""
    StoredJudging(store).save(
        [
            trace(1, ["bad", "fair", "fair"], error(1, "t0"), error(1, "t1")),
            trace(2, ["unsure"], error(2, "t0", confidence=0.2)),
            trace(3, ["elsewhere"], error(3, "t0"), service="desk"),
        ]
    )
    asked = RateQuery(0, 2**63 - 1, service="shop")
    assert told(store, asked) == [("bad", 1, 1), ("fair", 1, 2)]
    assert told(store, asked, limit=1) == [("bad", 1, 1)]
    assert StoredRates(store, rules=()).calls(RateQuery(0, 2**63 - 1, limit=1)).left == 2
    assert told(store, RateQuery(0, 2**63 - 1, profile="recall"))[-1] == ("fair", 1, 2)
    assert told(store, RateQuery(0, T0)) == []


def test_a_finding_in_a_joined_copy_is_of_the_one_call(store: SharedStore) -> None:
    """The calls of a copy are not further calls."""
    StoredJudging(store).save(
        [trace(1, ["search", "search"]), trace(2, ["search", "search"], error(2, "t1"), joined_to=spent(1))]
    )
    assert told(store) == [("search", 1, 2)]


def test_what_llm_judges_found_counts_in_what_they_looked_at(store: SharedStore) -> None:
    """Calls in traces that no LLM judge saw are not good calls of that population."""
    StoredJudging(store).save([trace(1, ["search", "search"]), trace(2, ["search"])])
    said = a_judged_subject(
        "tool-calling", error(1, "t0"), judged_at=T0, received=T0,
        subject=Subject(SubjectKind.AGENT_RUN, "run-1", spent(1)),
    )  # fmt: skip
    left = a_judged_subject(
        "tool-calling", judged_at=T0, received=T0, outcome=Outcome.SAMPLED_OUT, score=None,
        subject=Subject(SubjectKind.AGENT_RUN, "run-1", spent(2)),
    )  # fmt: skip
    StoredLlmJudging(store).save([said, left])
    assert told(store) == [("search", 1, 2)]
    assert told(store, RateQuery(0, 2**63 - 1, population=Population.DETECTORS)) == []
