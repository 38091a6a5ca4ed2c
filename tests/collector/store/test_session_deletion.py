"""Deleting a trace of a session: what was said of the session and quotes it goes, too."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest
from store_parts import a_judged_trace

from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import StoreError
from tracejury.schemas.llm_rows import AnswerRow
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import (
    JudgedSubject,
    Judgement,
    Outcome,
    Subject,
    SubjectKind,
    Verdict,
    session_subject_id,
)

T0 = 1_790_000_000_000_000_000
FIRST, SECOND, OTHER, LONE = ("a" * 32, "b" * 32, "c" * 32, "d" * 32)
CHAT = Subject(SubjectKind.SESSION, session_subject_id("shop", "chat"), "")
ELSEWHERE = Subject(SubjectKind.SESSION, session_subject_id("desk", "chat"), "")
LONELY = Subject(SubjectKind.SESSION, LONE, LONE)


def of_exchange(trace_id: str, number: int = 0) -> Subject:
    return Subject(SubjectKind.EXCHANGE, f"{trace_id[:4]}:{number}-{number}", trace_id)


def judged(subject: Subject, quotes: Collection[str] = (), *, tenant: str = "") -> JudgedSubject:
    """A check's word; `quotes`: the traces that its items stand in."""
    items = tuple(ItemAnswer("looks it up", "no", best=False, trace_id=i, span_id="s", quote="my card") for i in quotes)
    subject = Subject(subject.kind, subject.id, subject.trace_id, tenant)
    verdict = Verdict("club-state", "v1", subject, None, value=0.0, items=items)
    word = Judgement(subject, "club-state", "v1", "input", T0, T0, Outcome.DONE, verdicts=(verdict,))
    return JudgedSubject(TraceState.SETTLED, (word,))


def reply(trace_id: str, purpose: str, run_id: str = "") -> AnswerRow:
    key = f"{trace_id} {purpose} {run_id}"
    return AnswerRow(key, "m", "it said my card", "stop", 10, 0, 5, 0.25, T0, "shop", trace_id, run_id, purpose)


class Nobody:
    """No judging thread."""

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """Nothing is held."""

    def ask(self, keys: list[TraceKey]) -> None:
        """Nothing is judged."""


@pytest.fixture
def talked(store: SharedStore) -> SharedStore:
    """A session of two traces, one of another service, and a trace without a session."""
    places = {FIRST: ("shop", "chat"), SECOND: ("shop", "chat"), OTHER: ("desk", "chat"), LONE: ("shop", "")}
    StoredJudging(store).save(
        [
            a_judged_trace(trace_id=i, service=service, session_id=session, judged_at=T0, received=T0)
            for i, (service, session) in places.items()
        ]
    )
    llm = StoredLlmJudging(store)
    llm.save(
        [
            judged(CHAT, [FIRST, SECOND]), judged(ELSEWHERE, [OTHER]), judged(LONELY, [LONE]),
            judged(of_exchange(FIRST), [FIRST]), judged(of_exchange(SECOND), [SECOND]),
            judged(of_exchange(SECOND, 1), [SECOND]), judged(of_exchange(OTHER)), judged(of_exchange(LONE)),
        ]
    )  # fmt: skip
    llm.keep(
        [
            reply("", "session", CHAT.id), reply("", "session", ELSEWHERE.id), reply(FIRST, "exchange"),
            reply(SECOND, "exchange"), reply(SECOND, "panel"), reply(OTHER, "exchange"),
        ]
    )  # fmt: skip
    return store


def left(store: SharedStore, table: str) -> set[tuple[str, str]]:
    """(Trace, subject) of what is said by checks."""
    sql = f"SELECT TraceId, SubjectId FROM {table} FINAL WHERE Judge = 'club-state'"
    return {(trace_id, subject_id) for trace_id, subject_id in store.rows(sql)}


def pairs(*subjects: Subject) -> set[tuple[str, str]]:
    return {(subject.trace_id, subject.id) for subject in subjects}


def test_what_is_said_of_its_session_and_its_exchanges_goes_with_a_trace(talked: SharedStore) -> None:
    """What models answered about them, too; what it cost stays."""
    assert TraceDeleter(talked).delete([FIRST], T0 + 1) == (("shop", "chat"),)
    others = [of_exchange(SECOND), of_exchange(SECOND, 1), of_exchange(OTHER), of_exchange(LONE)]
    assert left(talked, "verdicts") == left(talked, "judgements") == pairs(ELSEWHERE, LONELY, *others)
    texts = talked.rows("SELECT TraceId, Purpose, RunId FROM answers FINAL WHERE Text != '' ORDER BY ALL")
    assert [tuple(row) for row in texts] == [
        ("", "session", ELSEWHERE.id), (SECOND, "exchange", ""), (SECOND, "panel", ""), (OTHER, "exchange", "")
    ]  # fmt: skip
    assert sum(spend.usd for spend in StoredLlmJudging(talked).spend(0)) == 6 * 0.25
    assert TraceDeleter(talked).delete([FIRST], T0 + 1) == ()


def test_a_session_that_the_trace_names_no_longer_goes_where_it_quotes_it(talked: SharedStore) -> None:
    """A late span may name another session."""
    moved = a_judged_trace(trace_id=FIRST, service="shop", session_id="new", judged_at=T0 + 1, received=T0 + 1)
    StoredJudging(talked).save([moved])
    assert TraceDeleter(talked).delete([FIRST], T0 + 2) == (("shop", "chat"),)
    assert not left(talked, "verdicts") & pairs(CHAT)


def test_a_trace_that_is_a_session_of_its_own_takes_its_rows_along(talked: SharedStore) -> None:
    assert TraceDeleter(talked).delete([LONE], T0 + 1) == ()
    assert {trace_id for trace_id, _ in left(talked, "verdicts")} == {"", FIRST, SECOND, OTHER}


def test_another_project_keeps_its_own(talked: SharedStore) -> None:
    StoredLlmJudging(talked, "them").save([judged(CHAT, [FIRST], tenant="them")])
    TraceDeleter(talked).delete([FIRST], T0 + 1)
    assert talked.rows("SELECT tenant FROM verdicts FINAL WHERE SubjectId = {id:String}", {"id": CHAT.id}) == [
        ("them",)
    ]


@pytest.mark.parametrize("table", ["judgements", "verdicts", "answers", "traces"])
def test_a_deletion_that_was_interrupted_is_finished_by_the_next(
    talked: SharedStore, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """Wherever it died."""
    command = SharedStore.command

    def dying(self: SharedStore, sql: str, parameters: Any = None, *, mutated: str = "") -> None:
        if sql.strip().startswith(f"DELETE FROM {table} "):
            raise StoreError("gone")
        command(self, sql, parameters, mutated=mutated)

    with monkeypatch.context() as patched:
        patched.setattr(SharedStore, "command", dying)
        with pytest.raises(StoreError):
            TraceDeleter(talked).delete([FIRST], T0 + 1)
    TraceDeleter(talked).delete([FIRST], T0 + 1)
    quoting = pairs(CHAT, of_exchange(FIRST))
    assert not quoting & (left(talked, "verdicts") | left(talked, "judgements"))


@pytest.mark.parametrize(
    ("query", "reopened"),
    [
        (DeleteQuery(FIRST), [("shop", "chat", "")]),
        (DeleteQuery(OTHER), [("desk", "chat", "")]),
        (DeleteQuery(LONE), []),
        (DeleteQuery(session="chat"), [("desk", "chat", ""), ("shop", "chat", "")]),
        (DeleteQuery(service="shop", before=T0 + 1), [("shop", "chat", "")]),
    ],
)
def test_closed_sessions_are_re_opened(
    talked: SharedStore, query: DeleteQuery, reopened: Sequence[tuple[str, str, str]]
) -> None:
    """By trace, by session and by service."""
    told = list[tuple[str, str, str]]()
    Deletion(talked, Nobody(), clock=lambda: T0 + 5, reopen=lambda *session: told.append(session)).delete(query)
    assert sorted(told) == list(reopened)


def test_nothing_is_stored_that_quotes_what_was_deleted_meanwhile(talked: SharedStore) -> None:
    """A session that was being judged while one of its traces was deleted."""
    Deletion(talked, Nobody(), clock=lambda: T0 + 5).delete(DeleteQuery(FIRST))
    StoredLlmJudging(talked).save([judged(CHAT, [FIRST, SECOND]), judged(of_exchange(SECOND, 1), [SECOND])])
    assert left(talked, "verdicts") & pairs(CHAT, of_exchange(SECOND, 1)) == pairs(of_exchange(SECOND, 1))
