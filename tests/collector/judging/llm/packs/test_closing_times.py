"""When sessions are looked at: each once it is due, in whatever order things happen."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trajectories import span

from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.packs.session_closing import (
    END_ATTRIBUTE,
    SessionClosing,
    SessionKey,
    SessionState,
)
from tracejury.processors.assemble import SECOND
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import JudgedSubject

QUIET = 10
SESSIONS = ("s", "t", "u")


class Looked:
    """A store without judged exchanges that notes which sessions are closed; it may fail."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.fails = False

    def unclosed(self, judges: Collection[str], limit: int) -> Sequence[tuple[SessionKey, SessionState]]:  # noqa: ARG002
        return ()

    def exchange_rows(self, session: SessionKey) -> Sequence[LedgerRow]:
        if self.fails:
            self.fails = False
            raise RetryableError("the store is away")
        self.closed.append(session.session_id)
        return ()

    def session_rows(self, session: SessionKey) -> Sequence[LedgerRow]:  # noqa: ARG002
        return ()

    def save(self, subjects: Sequence[JudgedSubject]) -> None: ...


def trace(session: str, received: int, state: TraceState = TraceState.SETTLED, *, ends: bool = False) -> Trace:
    """A trace of a session, which is named after it."""
    raw = span("a" * 16, attributes={END_ATTRIBUTE: "true"} if ends else {})
    made = rebuild([NormalizedSpan(raw, Kind.AGENT, "test")], state=state)
    return replace(
        made, trace_id=session * 32, service="shop", session_id=session, received_through=received * SECOND,
    )  # fmt: skip


STEPS = st.one_of(
    st.tuples(
        st.just("note"), st.sampled_from(SESSIONS), st.integers(0, 40), st.sampled_from(TraceState), st.booleans()
    ),
    st.tuples(st.just("close"), st.sampled_from(SESSIONS)),
    st.tuples(st.just("forget"), st.sampled_from(SESSIONS)),
    st.tuples(st.just("tick"), st.integers(0, 60), st.booleans()),
)


@given(st.lists(STEPS, max_size=30))
def test_the_sessions_that_close_at_a_look_are_those_that_are_due(steps: list[tuple[Any, ...]]) -> None:
    """As a look at every session tells; a store that fails costs none of them."""
    store = Looked()
    closing = SessionClosing(store, {}, JudgeQueue(), QUIET, lambda: 0)
    received: dict[str, int] = {}
    open_ones, ended, by_hand = set[str](), set[str](), set[str]()
    for step in steps:
        match step:
            case "note", name, at, state, ends:
                closing.note(trace(name, at, state, ends=ends))
                received[name] = max(received.get(name, 0), at)
                (open_ones.add if state is TraceState.OPEN else open_ones.discard)(name)
                if ends:
                    ended.add(name)
            case "close", name:
                closing.close(SessionKey("", "shop", name))
                received.setdefault(name, 0)
                by_hand.add(name)
            case "forget", name:
                closing.forget_traces([name * 32])
                open_ones.discard(name)
            case "tick", now, fails:
                due = {
                    name
                    for name, at in received.items()
                    if name in by_hand or (name not in open_ones and (name in ended or now - at >= QUIET))
                }
                store.closed, store.fails = [], fails and bool(due)
                if store.fails:
                    with pytest.raises(RetryableError):
                        closing.tick(now * SECOND)
                    store.fails = False
                closing.tick(now * SECOND)
                assert sorted(store.closed) == sorted(due)
                for name in due:
                    del received[name]
                    for noted in (open_ones, ended, by_hand):
                        noted.discard(name)
    assert len(closing) == len(received)
