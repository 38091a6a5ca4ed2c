"""Sessions of any size, with any id: what is asked stays bounded, and what is left out is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pack_bench import CHAT, SERVICE, Called, PackBench, exchange

from tracejury.collector.judging.llm import stored
from tracejury.collector.judging.llm.packs import pack_selector, stored_sessions
from tracejury.collector.judging.llm.packs.stored_sessions import SessionKey
from tracejury.collector.store import session_traces
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.stored_trace import stored_trace
from tracejury.judges.checks import questions
from tracejury.processors.transcript import session_record
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import SessionRecord
from tracejury.schemas.verdicts import Outcome, Subject, SubjectKind, Verdict, session_subject_id

STOCK = Called("list_stock", '{"city": "Oslo"}', "7 lamps, 3 chairs", thought="I list what there is in Oslo.")
HOSTILE = [
    'it\'s "a" `chat`',
    "../../etc/passwd",
    "a/b%2Fc?d=e#f",
    "x" * 10_000,
    "👩‍👩‍👧 chat",
    "a\x00b",
    "'); DROP TABLE verdicts; --",
    "\\",
    "\x1b[31m\u202e",
]


def in_one_trace(count: int) -> list[Span]:
    """A trace in which a manager runs so many times."""
    root = Span("a" * 32, "f" * 16, "", "chat", 0, 1, {"session.id": CHAT}, service=SERVICE)
    return [root, *(span for number in range(count) for span in run(number, "a" * 32, root.span_id))]


def run(number: int, trace_id: str, parent: str = "") -> list[Span]:
    """The spans of one exchange of two states."""
    made = exchange("a", f"What of part {number}?", [STOCK], f"{number} lamps.", at=number * 10)
    ids = {span.span_id: f"{number:x}".rjust(4, "0") + span.span_id[4:] for span in made}
    return [
        replace(s, trace_id=trace_id, span_id=ids[s.span_id], parent_span_id=ids.get(s.parent_span_id, parent))
        for s in made
    ]


def measures(bench: PackBench, service: str, session: str) -> dict[str, Verdict]:
    """The stored verdicts of a session by judge."""
    subject = Subject(SubjectKind.SESSION, session_subject_id(service, session), "")
    return {judge: verdict for verdict in all_of(bench) if verdict.subject == subject for judge in [verdict.judge]}


def all_of(bench: PackBench) -> Sequence[Verdict]:
    """The stored verdicts of sessions."""
    return bench.packs.sessions.verdicts("", [""])


@pytest.fixture
def bench(store: SharedStore) -> Iterator[PackBench]:
    """A collector that judges by PIPA."""
    bench = PackBench(store)
    with bench.running():
        yield bench


def test_exchanges_of_a_trace_beyond_the_most_are_noted_and_counted(
    bench: PackBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked about once, up to the limit."""
    monkeypatch.setattr(pack_selector, "MAX_EXCHANGES", 3)
    bench.say(in_one_trace(5))
    bench.close()
    assert len(bench.checker.prompts) == 3
    left = {row.subject_id for row in bench.rows("a") if row.outcome is Outcome.FILTERED}
    assert len(left) == 2
    state = bench.session()["pipa-state"]
    assert (state.denominator, state.reasons) == (6, "6 states of 3 exchanges; 2 exchanges not judged")


def test_traces_of_a_session_beyond_the_most_are_left_out_and_counted(
    bench: PackBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest ones are looked at; what was said of the others stays stored."""
    monkeypatch.setattr(session_traces, "MOST_TRACES", 3)
    bench.say(*(run(number, f"{number + 1:032x}") for number in range(5)))
    bench.close()
    assert len(bench.checker.prompts) == 5
    state = bench.session()["pipa-state"]
    assert (state.denominator, state.reasons) == (6, "6 states of 3 exchanges; 2 earlier traces left out")
    judged = bench.packs.sessions.verdicts("", [f"{number + 1:032x}" for number in range(5)])
    assert sum(verdict.judge == "pipa-state" for verdict in judged) == 5


def test_states_beyond_the_most_are_left_out_and_counted(bench: PackBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several calls ask about the others."""
    monkeypatch.setattr(questions, "MOST_A_CALL", 2)
    monkeypatch.setattr(questions, "MOST_CALLS", 3)
    bench.say(exchange("a", "What do you sell?", [STOCK] * 5, "Lamps."))
    assert len(bench.checker.prompts) == 3
    state = bench.verdicts("a")[SubjectKind.EXCHANGE, "pipa-state"]
    assert (state.denominator, state.reasons) == (6, "yes for 6 of 6 states; 4 left out")


def test_five_thousand_states_take_a_bounded_number_of_calls(bench: PackBench) -> None:
    """Those of one exchange."""
    bench.say(long_run(2500))
    state = bench.verdicts("a")[SubjectKind.EXCHANGE, "pipa-state"]
    assert (state.denominator, state.reasons) == (300, "yes for 300 of 300 states; 4700 left out")
    assert 5 <= len(bench.checker.prompts) <= 60


def long_run(calls: int) -> list[Span]:
    """An exchange in which the model is asked once a call, and shown the newest message alone."""
    (top, said, did, *_, answered) = exchange("a", "What do you sell?", [STOCK], "Lamps.")
    spans = (
        replace(
            span,
            span_id=f"{number:x}".rjust(8, "0") + span.span_id[8:],
            start=span.start + number * 10_000,
            end=span.end + number * 10_000,
        )
        for number in range(calls)
        for span in (said, did)
    )
    late = calls * 10_000
    return [top, *spans, replace(answered, start=answered.start + late, end=answered.end + late)]


def test_two_hundred_policies_take_several_calls_and_all_are_answered(store: SharedStore) -> None:
    """None is left out."""
    policies = [f"Never sell part {number} unseen." for number in range(200)]
    config = {"pack_settings": {"pipa": {"services": {"*": {"policies": policies}}}}}
    bench = PackBench(store, config=config)
    bench.hold_session(run(0, "a" * 32))
    assert len(bench.checker.prompts) == 1 + 4
    assert bench.session()["pipa-policy"].reasons == "kept for 200 of 200 policies"


@pytest.mark.parametrize("session", HOSTILE, ids=lambda session: ascii(session[:20]))
def test_a_session_may_have_any_id(bench: PackBench, session: str) -> None:
    """It is judged as it was sent, and closed by it."""
    bench.say(exchange("a", "What do you sell?", [STOCK], "Lamps.", session=session))
    stored = bench.cases.load(("", "a" * 32), 0)
    assert stored is not None
    sent = stored[0].session_id
    bench.packs.closing.close(SessionKey("", SERVICE, sent))
    bench.packs.closing.tick(bench.clock())
    bench.settle()
    assert measures(bench, SERVICE, sent)["pipa-state"].value == 1
    assert len(bench.packs.closing) == 0


def test_two_services_with_one_session_id_have_a_session_each(bench: PackBench) -> None:
    """Neither shows what the other did."""
    own, other = run(0, "a" * 32), [replace(span, service="farm") for span in run(1, "b" * 32)]
    bench.say(own, other)
    bench.close()
    found = {service: measures(bench, service, CHAT)["pipa-state"].denominator for service in (SERVICE, "farm")}
    assert found == {SERVICE: 2, "farm": 2}
    assert [prompt.messages[-1].text.count("Answer for exchange E1 ") for prompt in bench.checker.prompts] == [1, 1]


def test_an_exchange_that_moves_with_late_spans_is_judged_anew_and_counted_once(bench: PackBench) -> None:
    """Its id has the positions of its turns."""
    top, *late, answer = run(0, "a" * 32)
    bench.say([top, answer])
    bench.close()
    (before,) = {row.subject_id for row in bench.rows("a") if row.kind is SubjectKind.EXCHANGE}
    assert bench.session()["pipa-tools"].not_applicable
    bench.say(late)
    bench.close()
    rows = [row for row in bench.rows("a") if row.kind is SubjectKind.EXCHANGE]
    assert {row.outcome for row in rows if row.subject_id == before} == {Outcome.SUPERSEDED}
    (after,) = {verdict.subject.id for verdict in bench.packs.sessions.verdicts("", ["a" * 32])}
    assert after != before
    assert bench.session()["pipa-tools"].reasons == "1 calls of 1 exchanges"


def test_a_session_id_that_comes_late_makes_the_trace_part_of_the_session(bench: PackBench) -> None:
    """It had been a session of its own until then."""
    whole = run(0, "a" * 32)
    alone = [replace(s, attributes={k: v for k, v in s.attributes.items() if k != "session.id"}) for s in whole]
    bench.say(alone)
    assert SubjectKind.SESSION in {row.kind for row in bench.rows("a") if row.trace_id}
    late = {"openinference.span.kind": "CHAIN", "session.id": CHAT}
    bench.say([replace(alone[-1], span_id="9" * 16, name="flush", attributes=late)])
    bench.close()
    assert bench.session()["pipa-state"].denominator == 2
    left = {row.outcome for row in bench.rows("a") if row.kind is SubjectKind.SESSION and row.trace_id}
    assert left == {Outcome.SUPERSEDED}
    assert not [v for v in bench.packs.sessions.verdicts("", ["a" * 32]) if v.subject.kind is SubjectKind.SESSION]


def test_what_was_judged_before_is_neither_read_nor_recorded_again(
    bench: PackBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The traces of a session are at hand for its later exchanges; those of one trace share a record."""
    read: list[str] = []
    recorded: list[int] = []

    def reading(judging: StoredJudging, trace_id: str, *given: Any) -> Trace | None:
        read.append(trace_id)
        return stored_trace(judging, trace_id, *given)

    def recording(session_id: str, traces: Sequence[Trace]) -> SessionRecord:
        recorded.append(len(traces))
        return session_record(session_id, traces)

    monkeypatch.setattr(stored, "stored_trace", reading)
    monkeypatch.setattr(stored_sessions, "session_record", recording)
    for number in range(3):
        bench.say(run(number, f"{number + 1:032x}"))
    assert (read, recorded) == ([], [1, 2, 3])
    bench.close()
    assert (read, recorded) == ([], [1, 2, 3])
    bench.say([replace(span, attributes={**span.attributes, "session.id": "other"}) for span in in_one_trace(6)])
    assert (read, recorded) == ([], [1, 2, 3, 1])
    assert len(bench.checker.prompts) == 3 + 6
