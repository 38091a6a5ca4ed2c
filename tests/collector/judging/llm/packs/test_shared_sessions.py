"""Real traces judged as sessions: findings stand where the script finds fault, and measures follow from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import ceil, fsum, isclose
from pathlib import Path

import pytest
from recorded_faults import OMITTED, FaultFinder, JudgedRecord, judged
from sizes import sized
from trajectories import FRAMEWORKS, SHARED, TRAIL, load

from tracejury.collector.judging.detect.direct import by_session
from tracejury.judges.checks.questions import MOST_A_CALL
from tracejury.judges.evidence import message_texts
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.packs.loader import load_packs
from tracejury.processors.joining import rebuild_joined
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.shown import folded
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Verdict

TAU, CHATS = ("agentrx-tau", "tau-ok"), ("agentrx-magentic", "whowhen-hand", "whowhen-algorithm")
SOURCES = pytest.mark.parametrize("source", ["frameworks", "trail", *TAU, *CHATS])
STATES, OBSERVATIONS, POLICIES, CALLS = "pipa-state", "pipa-observation", "pipa-policy", "pipa-tools"
(PACK,), (SEPARATE,) = load_packs(["pipa"]), load_packs(["pipa"], {"pipa": {"mode": "separate"}})

Session = tuple[str, list[Trace], JudgedRecord]


@cache
def sessions(source: str) -> tuple[Session, ...]:
    """The judged sessions of a source: every third file of it, or all."""
    folder = {"frameworks": FRAMEWORKS, "trail": TRAIL}.get(source, SHARED / "steps" / source / "traces")
    if not folder.exists():
        pytest.skip(f"the shared traces of {source} are absent")
    files = sorted(folder.glob("*/*.zip") if source == "frameworks" else folder.iterdir())
    return tuple(session for file in files[:: sized(3, 1)] for session in _of(file))


def _of(file: Path) -> Iterator[Session]:
    for (_, name), traces in by_session(rebuild_joined(load(file))).items():
        if any(trace.exchanges for trace in traces):
            yield name, traces, judged(name, traces, PACK)


def by_check(said: Deliberation) -> dict[str, Verdict]:
    return {verdict.judge: verdict for verdict in said.verdicts}


@SOURCES
def test_every_quote_occurs_in_its_span(source: str) -> None:
    """That of a finding, and of an item below the best; what is made of it comes from no other span."""
    quoted = 0
    for _, traces, came in sessions(source):
        spans = {(span.raw.trace_id, span_id): span for trace in traces for span_id, span in trace.spans.items()}
        for _, said in came.subjects:
            for finding in said.findings:
                assert stands(finding.evidence, spans[finding.trace_id, finding.span_id]), finding
                quoted += 1
            for item in (item for verdict in said.verdicts for item in verdict.items):
                assert not item.quote or stands(item.quote, spans[item.trace_id, item.span_id]), item
    assert quoted


def stands(quote: str, span: NormalizedSpan) -> bool:
    """Whether a span records the quote; white space and case are forgiven, as they are shown otherwise."""
    raw = span.raw
    told = [raw.name, raw.status_message, *raw.attributes.values(), *span.log_text]
    told += [text for event in raw.events for text in (event.name, *event.attributes.values())]
    told += [text for m in (*span.input_messages, *span.output_messages) for text in message_texts(m)]  # from its logs
    return any(folded(quote) in folded(text) for one in told for text in (one, *_inside(one)))


def _inside(text: str) -> Iterator[str]:
    """The strings in a text of JSON, however deep."""
    try:
        value = json.loads(text)
    except ValueError:
        return
    left = [value]
    while left:
        one = left.pop()
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        if isinstance(one, str):
            yield one
            yield from _inside(one)
        elif isinstance(one, dict | list):
            yield json.dumps(one, ensure_ascii=False)


@SOURCES
def test_findings_stand_where_the_script_finds_fault_and_nowhere_else(source: str) -> None:
    """Each fault with a quote from its step is one, no invented quote is; beside them only calls that failed."""
    for _, _, came in sessions(source):
        for finder, said in came.subjects:
            found = {(f.judge, f.category, f.trace_id, f.span_id) for f in said.findings if f.judge != CALLS}
            assert found == {
                (f.check, PACK.check(f.check).category if f.item else OMITTED, f.step.trace_id, f.step.span_id)
                for f in finder.faults
                if f.real
            }
            below = [i for v in said.verdicts for i in v.items if v.judge != CALLS and not i.best]
            of_items = [fault for fault in finder.faults if fault.item]
            assert len(below) == len(of_items)
            assert sum(not item.grounded for item in below) == sum(not fault.real for fault in of_items)
            calls = by_check(said)[CALLS].items if finder.number is not None else ()
            failed = Counter((c.trace_id, c.span_id) for c in calls if not c.best and c.label)
            assert Counter((f.trace_id, f.span_id) for f in said.findings if f.judge == CALLS) <= failed


@SOURCES
def test_measures_follow_from_the_script(source: str) -> None:
    """Each by its definition from what was asked and found; within 0 and 1, and no higher where doubts count."""
    for _, _, came in sessions(source):
        exchanges = came.subjects[:-1]
        for verdict in (*came.measures.values(), *(v for _, said in came.subjects for v in said.verdicts)):
            assert (verdict.value is None) == (not verdict.denominator) == verdict.not_applicable
            assert not verdict.unscored_reason
            if verdict.value is not None:
                assert 0 <= verdict.value <= 1
                assert verdict.value == verdict.numerator / verdict.denominator
                assert verdict.raw is not None
                assert 0 <= verdict.raw <= verdict.value
        states = [tally(finder, STATES) for finder, _ in exchanges]
        consistent, counted = (sum(column) for column in zip(*states, strict=True))
        assert same(came.measures[STATES], consistent, counted)
        observed = [(good, n) for good, n in (tally(finder, OBSERVATIONS) for finder, _ in exchanges) if n]
        assert same(came.measures[OBSERVATIONS], fsum(good / n for good, n in observed), len(observed))
        assert same(came.measures[POLICIES], *tally(came.subjects[-1][0], POLICIES))
        calls = [call for _, said in exchanges for call in by_check(said)[CALLS].items]
        failed = sum(not call.best for call in calls)
        assert same(came.measures[CALLS], len(calls) - failed, len(calls) + failed)
        assert came.measures["pipa-completion"].not_applicable


def tally(finder: FaultFinder, check: str) -> tuple[int, int]:
    """Sound items, and all of them, of those that were asked about; an invented quote decides nothing."""
    faults = [fault for fault in finder.faults if fault.check == check and fault.item]
    asked = finder.asked[check]
    return asked - len(faults), asked - sum(not fault.real for fault in faults)


def same(verdict: Verdict, numerator: float, denominator: float) -> bool:
    return isclose(verdict.numerator, numerator) and verdict.denominator == denominator


@SOURCES
def test_judging_again_in_chapters_or_item_by_item_changes_nothing(source: str) -> None:
    """Nor does the order of the traces."""
    for name, traces, came in sessions(source):
        again = judged(name, traces[::-1], PACK)
        assert again == came
        room = max(2000, came.record.transcript.characters // 12)
        for other in (judged(name, traces, PACK, room), judged(name, traces, SEPARATE)):
            assert [said.findings for _, said in other.subjects] == [said.findings for _, said in came.subjects]
            assert other.measures == came.measures


@SOURCES
def test_exchanges_are_those_of_the_script(source: str) -> None:
    """One in a task of agents alone, as many as the user wrote messages in a conversation."""
    for _, traces, came in sessions(source):
        expected = 1
        if source == "frameworks":
            expected = sum(not run.parent_id for trace in traces for run in trace.runs)
        elif source in TAU:
            expected = written(traces)
        assert len(came.record.exchanges) == expected


@SOURCES
def test_an_exchange_takes_one_call_and_the_session_another(source: str) -> None:
    """More only where an exchange has more states than a call holds."""
    for _, _, came in sessions(source):
        for finder, _ in came.subjects:
            assert finder.calls <= max(1, ceil(finder.asked[STATES] / MOST_A_CALL))


def written(traces: list[Trace]) -> int:
    """Messages of the user in a conversation, as its last call was sent them all."""
    sent = [span.raw.attributes.get("gen_ai.input.messages", "[]") for trace in traces for span in trace.spans.values()]
    return max([message["role"] for message in json.loads(messages)].count("user") for messages in sent)
