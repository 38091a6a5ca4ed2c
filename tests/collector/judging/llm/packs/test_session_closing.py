"""A session closes once its traces have settled and it is quiet, when it says so, or when somebody asks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pack_bench import exchange
from store_parts import a_judged_subject, a_judged_trace, a_span

from tracejury.collector.judging.llm.judge_queue import JudgeQueue, JudgeTask
from tracejury.collector.judging.llm.ledger_entries import AGAIN
from tracejury.collector.judging.llm.packs.session_closing import SessionClosing
from tracejury.collector.judging.llm.packs.stored_sessions import SessionKey, StoredSessions
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.selection import Policy, Rule
from tracejury.processors.assemble import SECOND, AssemblerConfig
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.simulation import SESSION_END
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import Outcome, Subject, SubjectKind, session_of

JUDGES = {"pipa-policy": "v1"}
CHAT = SessionKey("", "shop", 'chat "1"/2')
QUIET = 10
DAY = 24 * 3600 * SECOND


class Scene:
    """A store with traces of one session, and what closes it."""

    def __init__(self, store: SharedStore, policy: Policy | None = None) -> None:
        self.store, self.queue, self.policy = store, JudgeQueue(), policy or Policy()
        self.closing = self.restarted()

    def restarted(self) -> SessionClosing:
        """What a new process has."""
        cases = StoredCases(self.store, AssemblerConfig(), lambda _: False)
        return SessionClosing(StoredSessions(self.store, cases), JUDGES, self.policy, self.queue, QUIET)

    def judged(
        self,
        name: str = "a",
        state: TraceState = TraceState.SETTLED,
        received: int = SECOND,
        outcome: Outcome | None = Outcome.DONE,
        attributes: tuple[str, ...] = (),
    ) -> Trace:
        """A trace of the session is stored with one exchange, and noted; `outcome`: of a check of exchanges, if any."""
        trace_id = name * 32
        asked = exchange(name, "What is there?", [], "Lamps.", session=CHAT.session_id)
        self.store.insert("spans", SPAN_COLUMNS, span_columns(asked, received))
        judged = a_judged_trace(
            trace_id=trace_id, session_id=CHAT.session_id, state=state, received=received, judged_at=received
        )
        StoredJudging(self.store).save([judged])
        if outcome is not None:
            self.exchange(name, received, outcome)
        spans = {"s": _Span(a_span(trace_id=trace_id, attributes=dict.fromkeys(attributes, "true")))}
        trace = replace(judged.trace, spans=spans, received_through=received)  # type: ignore[arg-type]
        self.closing.note(trace)
        return trace

    def exchange(self, name: str, received: int, outcome: Outcome = Outcome.DONE, content: str = "h") -> None:
        """What a judge said of its exchange."""
        subject = Subject(SubjectKind.EXCHANGE, "m:0-0", name * 32)
        said = a_judged_subject(
            "pipa-state", outcome=outcome, subject=subject, received=received, judged_at=received, content=content
        )  # fmt: skip
        StoredLlmJudging(self.store).save([said])

    def closed(self, now: int) -> list[JudgeTask]:
        """The sessions that are queued at a look; they are done with at once."""
        self.closing.tick(now)
        tasks: list[JudgeTask] = []
        while taken := self.queue.take_next(now):
            tasks += [item.value for item in taken]
            self.queue.done(taken)
        return tasks

    def done(self, task: JudgeTask, outcome: Outcome = Outcome.DONE) -> None:
        """The session is judged, or could not be."""
        subject = Subject(task.kind, task.subject_id, "")
        said = a_judged_subject(
            "pipa-policy", subject=subject, content=task.content, judged_at=task.noted_at + 1,
            received=task.received_through, outcome=outcome,
        )  # fmt: skip
        StoredLlmJudging(self.store).save([said])


class _Span:
    def __init__(self, raw: object) -> None:
        self.raw = raw


@pytest.fixture
def scene(store: SharedStore) -> Scene:
    """An empty store."""
    return Scene(store)


def test_a_session_closes_when_it_was_quiet_for_long_enough(scene: Scene) -> None:
    """Not a moment before, and once."""
    scene.judged()
    assert scene.closed((QUIET + 1) * SECOND - 1) == []
    (task,) = scene.closed((QUIET + 1) * SECOND)
    assert (task.kind, task.key, task.judges) == (SubjectKind.SESSION, ("", ""), ("pipa-policy",))
    assert session_of(Subject(task.kind, task.subject_id, "")) == (CHAT.service, CHAT.session_id)
    scene.done(task)
    assert scene.closed(100 * SECOND) == []
    assert len(scene.closing) == 0


def test_a_session_waits_for_its_open_traces(scene: Scene) -> None:
    """However long nothing came."""
    scene.judged("a", TraceState.OPEN)
    scene.judged("b")
    assert scene.closed(1000 * SECOND) == []
    scene.judged("a")
    assert len(scene.closed(1000 * SECOND)) == 1


def test_a_session_that_says_that_it_has_ended_is_not_waited_for(scene: Scene) -> None:
    """But for what is still open."""
    scene.judged("a", TraceState.OPEN, attributes=(SESSION_END,))
    assert scene.closed(SECOND) == []
    scene.judged("a")
    assert len(scene.closed(SECOND)) == 1


def test_a_later_trace_reopens_a_closed_session(scene: Scene) -> None:
    """It is judged again, since it has another exchange."""
    scene.judged("a")
    (task,) = scene.closed(20 * SECOND)
    scene.done(task)
    scene.judged("b", received=30 * SECOND)
    assert scene.closed(35 * SECOND) == []
    (again,) = scene.closed(40 * SECOND)
    assert again.content != task.content


def test_what_has_not_changed_is_not_asked_again(scene: Scene) -> None:
    """A copy of a span that arrives later is no news."""
    scene.judged("a")
    (task,) = scene.closed(20 * SECOND)
    scene.done(task)
    scene.judged("a", received=30 * SECOND)
    assert scene.closed(100 * SECOND) == []


def test_an_exchange_that_could_be_judged_after_all_has_the_session_judged_again(scene: Scene) -> None:
    """Its measures had left it out."""
    scene.judged("a", outcome=Outcome.OVER_BUDGET)
    (task,) = scene.closed(20 * SECOND)
    scene.done(task)
    scene.judged("a", received=30 * SECOND)
    assert len(scene.closed(100 * SECOND)) == 1


def test_a_new_process_closes_what_the_last_one_left(scene: Scene) -> None:
    """Whether a check was asked of its exchanges or not; one that was quiet for days is of the time before the pack."""
    scene.judged("a", received=3 * DAY, outcome=None)
    scene.judged("b", received=DAY, outcome=None)
    scene.closing = scene.restarted()
    assert scene.closed(5 * DAY) == []
    scene.closing = scene.restarted()
    (task,) = scene.closed(3 * DAY + 20 * SECOND)
    scene.closing = scene.restarted()
    assert scene.closed(3 * DAY + 20 * SECOND) == []  # its entries are pending: the queue is filled from the ledger
    scene.done(task)


def test_a_new_process_closes_old_sessions_whose_exchanges_were_judged(scene: Scene) -> None:
    scene.judged("a")
    scene.closing = scene.restarted()
    assert len(scene.closed(5 * DAY)) == 1


def test_somebody_may_close_a_session_at_once(scene: Scene) -> None:
    """And have a judged one judged again."""
    scene.judged("a")
    scene.closing.close(CHAT)
    (task,) = scene.closed(SECOND)
    scene.done(task)
    scene.closing.close(CHAT)
    assert len(scene.closed(2 * SECOND)) == 1


@pytest.mark.parametrize(
    ("outcome", "again", "judged"),
    [
        (Outcome.FAILED, None, []), (Outcome.FAILED, False, [AGAIN]), (Outcome.FAILED, True, [AGAIN]),
        (Outcome.DONE, None, []), (Outcome.DONE, False, []), (Outcome.DONE, True, [""]),
    ],
)  # fmt: skip
def test_a_request_for_a_trace_is_one_for_its_session(
    scene: Scene, outcome: Outcome, *, again: bool | None, judged: list[str]
) -> None:
    """To catch up, what failed is judged again, without the answer cache; by hand, whatever was said."""
    trace = scene.judged("a")
    (task,) = scene.closed(20 * SECOND)
    scene.done(task, outcome)
    scene.closing.note(trace, again=again)
    scene.closing.note(trace)
    scene.closed(21 * SECOND)
    cases = StoredCases(scene.store, AssemblerConfig(), lambda _: False)
    (row,) = StoredSessions(scene.store, cases).session_rows(CHAT)
    assert [row.reason] * (row.outcome is Outcome.PENDING) == judged


@pytest.mark.parametrize(
    ("rate", "outcome", "closed", "decided", "probability"),
    [
        (1.0, Outcome.DONE, 1, Outcome.PENDING, 1.0),
        (1.0, Outcome.FAILED, 1, Outcome.PENDING, 1.0),
        (1.0, None, 1, Outcome.PENDING, 1.0),
        (1e-9, Outcome.SAMPLED_OUT, 0, Outcome.SAMPLED_OUT, 1e-9),
        (1e-9, None, 0, Outcome.SAMPLED_OUT, 1e-9),
        (0.0, Outcome.FILTERED, 0, Outcome.FILTERED, 0.0),
        (0.0, Outcome.DONE, 1, Outcome.PENDING, 0.0),
    ],
)
def test_a_session_is_judged_as_its_exchanges_are(
    store: SharedStore, rate: float, outcome: Outcome | None, closed: int, decided: Outcome, probability: float
) -> None:
    """With their weight, 0 where somebody asked for one by hand; its own entry says why it is not."""
    scene = Scene(store, Policy((Rule(rate=rate),)))
    scene.judged("a", outcome=outcome)
    tasks = scene.closed(100 * SECOND)
    assert [task.probability for task in tasks] == [probability] * closed
    cases = StoredCases(scene.store, AssemblerConfig(), lambda _: False)
    (row,) = StoredSessions(scene.store, cases).session_rows(CHAT)
    assert (row.outcome, row.probability) == (decided, probability)


def test_exchanges_that_another_version_has_judged_have_the_session_judged_again(scene: Scene) -> None:
    """Its measures are made of their answers."""
    scene.judged("a")
    (task,) = scene.closed(20 * SECOND)
    scene.done(task)
    subject = Subject(SubjectKind.EXCHANGE, "m:0-0", "a" * 32)
    again = a_judged_subject(
        "pipa-state", subject=subject, version="v2", content="h", received=SECOND, judged_at=30 * SECOND
    )
    StoredLlmJudging(scene.store).save([again])
    scene.closing.note(scene.judged("a"))
    assert len(scene.closed(100 * SECOND)) == 1


def test_a_store_that_fails_costs_no_session(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were to be closed are closed at the next look."""
    scene.judged("a")

    def away(_: StoredSessions, session: SessionKey) -> None:
        raise RetryableError(f"the store is away: {session.session_id}")

    with monkeypatch.context() as patch:
        patch.setattr(StoredSessions, "exchange_rows", away)
        with pytest.raises(RetryableError, match="away"):
            scene.closed(20 * SECOND)
    assert len(scene.closed(20 * SECOND)) == 1


def test_no_session_waits_for_a_deleted_trace(scene: Scene) -> None:
    scene.judged("a", TraceState.OPEN)
    scene.judged("b")
    scene.closing.forget_traces(["a" * 32])
    assert len(scene.closed(20 * SECOND)) == 1
