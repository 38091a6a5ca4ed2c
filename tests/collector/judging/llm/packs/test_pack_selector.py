"""Exchanges stand in the ledger once they have ended, and again when they change; all of a session, or nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Said, run, trace

from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.packs.pack_selector import MAX_EXCHANGES, PackSelector
from tracejury.collector.judging.llm.packs.session_closing import WHILE_OPEN, SessionClosing
from tracejury.collector.judging.llm.packs.stored_sessions import StoredSessions
from tracejury.collector.judging.llm.traces_to_judge import TracesToJudge
from tracejury.judges.llm.selection import Policy, Rule
from tracejury.schemas.trajectory import AgentRun, Exchange, Trace, TraceState
from tracejury.schemas.verdicts import (
    DETECTORS,
    TAKEN_BACK,
    JudgedTrace,
    Judgement,
    LedgerEntries,
    Outcome,
    Subject,
    SubjectKind,
)

OF_EXCHANGES = {"state": "v1", "tools": "v1"}
OF_SESSIONS = {"policy": "v1"}


class NoSessions(StoredSessions):
    """A store without sessions."""

    def __init__(self) -> None:
        pass


def selector(policy: Policy | None = None, queue: JudgeQueue | None = None) -> PackSelector:
    """A selector of two judges of exchanges and one of sessions."""
    waiting = JudgeQueue() if queue is None else queue
    closing = SessionClosing(NoSessions(), OF_SESSIONS, Policy(), waiting, 10)
    return PackSelector(OF_EXCHANGES, OF_SESSIONS, policy or Policy(), waiting, TracesToJudge(), closing)


def a_trace(
    count: int = 2, state: TraceState = TraceState.SETTLED, session: str = "chat", last: str = "Done."
) -> Trace:
    """A manager who answers each of so many questions in a turn of its own."""
    said = [Said(f"l{n}", "Done.") for n in range(count - 1)]
    manager: AgentRun = run("m", *said, Said(f"l{count - 1}", last), answer=last)
    exchanges = tuple(Exchange("m", n, n, f"question {n}", "Done.") for n in range(count))
    return replace(trace(manager, state=state), session_id=session, exchanges=exchanges)


def words(rows: tuple[Judgement, ...]) -> set[tuple[SubjectKind, str, str, Outcome]]:
    """Kind and id of the subject, judge and outcome."""
    return {(row.subject.kind, row.subject.id, row.judge, row.outcome) for row in rows}


def pending(*exchanges: str) -> set[tuple[SubjectKind, str, str, Outcome]]:
    """Both judges of these exchanges, pending."""
    return {(SubjectKind.EXCHANGE, e, judge, Outcome.PENDING) for e in exchanges for judge in OF_EXCHANGES}


def test_an_exchange_is_noted_when_the_next_one_begins_and_the_last_one_when_the_trace_settles() -> None:
    """What an agent still works on is judged by nobody."""
    ledger: LedgerEntries = {}
    one = selector()
    assert words(one.select(a_trace(2, TraceState.OPEN), (), ledger, 1).rows) == pending("m:0-0")
    assert one.select(a_trace(2, TraceState.OPEN), (), ledger, 2).rows == ()
    settled = one.select(a_trace(), (), ledger, 3)
    assert {row.subject.id for row in settled.rows if row.outcome is Outcome.PENDING} == {"m:0-0", "m:1-1"}
    assert {row.subject.id for row in settled.rows if row.outcome is Outcome.SUPERSEDED} == {"m:0-0"}
    assert not any(row.input_hash.endswith(WHILE_OPEN) for row in settled.rows if row.outcome is Outcome.PENDING)
    assert "m:0-0" in settled.known_runs
    assert one.select(a_trace(), (), ledger, 4).rows == ()


def test_only_the_exchange_that_changed_is_noted_anew() -> None:
    """Judging costs money."""
    ledger: LedgerEntries = {}
    one = selector()
    for row in one.select(a_trace(), (), ledger, 1).rows:
        ledger[row.subject.kind, row.subject.id, row.judge] = replace(row, outcome=Outcome.DONE)
    changed = a_trace(last="Something else.")
    exchanges = (changed.exchanges[0], replace(changed.exchanges[1], answer="Something else."))
    assert words(one.select(replace(changed, exchanges=exchanges), (), ledger, 2).rows) == pending("m:1-1")


def test_an_exchange_that_is_none_any_more_is_withdrawn_and_the_runs_ledger_is_left_alone() -> None:
    """A late span may make one exchange of two."""
    ledger: LedgerEntries = {}
    one = selector()
    of_run = Judgement(Subject(SubjectKind.AGENT_RUN, "m", "t"), "plan-quality", "v", "h", 1, 1, Outcome.DONE)
    ledger[SubjectKind.AGENT_RUN, "m", "plan-quality"] = of_run
    one.select(a_trace(), (), ledger, 1)
    whole = replace(a_trace(), exchanges=(Exchange("m", 0, 1, "question", "Done."),))
    rows = one.select(whole, (), ledger, 2).rows
    gone = {(row.subject.id, row.outcome) for row in rows if row.outcome is Outcome.SUPERSEDED}
    assert gone == {("m:0-0", Outcome.SUPERSEDED), ("m:1-1", Outcome.SUPERSEDED)}
    blank = {(v.subject.id, v.value, v.unscored_reason) for row in rows for v in row.verdicts}
    assert blank == {("m:0-0", None, TAKEN_BACK), ("m:1-1", None, TAKEN_BACK)}
    assert words(tuple(row for row in rows if row.outcome is Outcome.PENDING)) == pending("m:0-1")
    assert ledger[SubjectKind.AGENT_RUN, "m", "plan-quality"] is of_run


@pytest.mark.parametrize(("state", "noted"), [(TraceState.OPEN, set()), (TraceState.SETTLED, {"t"})])
def test_a_trace_without_a_session_is_one_and_closes_with_itself(state: TraceState, noted: set[str]) -> None:
    """Its judges of sessions are asked once it has settled."""
    alone = a_trace(1, state, session="")
    rows = selector().select(alone, (), {}, 1).rows
    sessions = [row for row in rows if row.subject.kind is SubjectKind.SESSION]
    assert {row.subject.id for row in sessions} == {alone.trace_id for _ in noted}
    assert {row.subject.trace_id for row in sessions} == {alone.trace_id for _ in noted}


def test_all_exchanges_of_a_session_are_in_the_sample_or_none_whatever_trace_they_are_of() -> None:
    """Else a session's measures would be of half of it."""
    one = selector(Policy((Rule(rate=0.5),)))
    outcomes: dict[str, set[Outcome]] = {}
    for session in map(str, range(40)):
        for number in range(3):
            said = replace(a_trace(session=session), trace_id=f"{number:032x}")
            outcomes.setdefault(session, set()).update(row.outcome for row in one.select(said, (), {}, 1).rows)
    assert set(map(frozenset, outcomes.values())) == {frozenset({Outcome.PENDING}), frozenset({Outcome.SAMPLED_OUT})}


def test_a_request_by_hand_has_a_session_outside_the_sample_judged_with_no_weight() -> None:
    """It counts in no average."""
    one = selector(Policy((Rule(rate=1e-12),)))
    said = a_trace()
    ledger: LedgerEntries = {}
    assert {row.outcome for row in one.select(said, (), ledger, 1).rows} == {Outcome.SAMPLED_OUT}
    one.request([(said.tenant, said.trace_id)], by_hand=True)
    again = one.select(said, (), ledger, 2).rows
    assert {(row.outcome, row.probability) for row in again} == {(Outcome.PENDING, 0.0)}


def test_exchanges_beyond_the_bound_are_noted_as_such() -> None:
    """What is left out is said."""
    rows = selector().select(a_trace(MAX_EXCHANGES + 2), (), {}, 1).rows
    left = {row.subject.id for row in rows if row.outcome is Outcome.FILTERED}
    assert left == {f"m:{n}-{n}" for n in (MAX_EXCHANGES, MAX_EXCHANGES + 1)}


def test_pending_exchanges_are_queued_once_stored() -> None:
    """One task an exchange, for all of its judges."""
    queue = JudgeQueue()
    one, said = selector(queue=queue), a_trace()
    rows = one.select(said, (), {}, 1).rows
    judgement = Judgement(Subject(SubjectKind.TRACE, "t", "t"), DETECTORS, "v", "h", 1, 1, Outcome.DONE)
    one.enqueue([JudgedTrace(said, judgement, ledger=rows)])
    first, second = (item.value for item in queue.take(1))
    assert (first.kind, first.subject_id, first.judges) == (SubjectKind.EXCHANGE, "m:0-0", ("state", "tools"))
    assert second.subject_id == "m:1-1"
