"""A pipeline decides by traces that are judged to their end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from served_api import KNOWN, Api, row

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.waiting import PAUSE, Waited, wait_until_judged
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.trajectory import TraceState


@pytest.fixture
def client(api: Api) -> Iterator[ApiClient]:
    with ApiClient(api.url) as client:
        yield client


def put(api: Api, judged_in: TraceState) -> None:
    """The known trace, which was last judged in that state."""
    api.put_rows(replace(row(0), state=judged_in))


def never(_seconds: float) -> None:
    raise AssertionError("nothing to wait for")


@pytest.mark.parametrize("state", [TraceState.SETTLED, TraceState.INCOMPLETE])
def test_judged_traces_are_not_waited_for(api: Api, client: ApiClient, state: TraceState) -> None:
    """Also when there is none at all, and when an open one is not concerned."""
    assert wait_until_judged(client, {}, wait=never) == Waited(0, 0)
    api.put_rows(replace(row(1), state=TraceState.OPEN))
    api.put_rows(replace(row(0), state=state))
    assert wait_until_judged(client, {"trace": KNOWN.upper()}, wait=never) == Waited(1, 0)


def test_an_open_trace_is_waited_for(api: Api, client: ApiClient) -> None:
    """Until it settles and is judged as it is then, however many looks that takes."""
    put(api, TraceState.OPEN)
    waits: list[float] = []

    def settle(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) >= 3:
            put(api, TraceState.OPEN if len(waits) == 3 else TraceState.SETTLED)

    assert wait_until_judged(client, {"trace": KNOWN}, wait=settle) == Waited(1, 0)
    assert waits == [PAUSE] * 4


def test_patience_ends(api: Api, client: ApiClient) -> None:
    """A trace that stays open is said to be."""
    api.put_rows(replace(row(0), state=TraceState.OPEN))
    waits: list[float] = []
    assert wait_until_judged(client, {}, patience=2.0, wait=waits.append) == Waited(1, 1)
    assert sum(waits) == 2.0


def test_what_was_never_judged_is_counted(api: Api, client: ApiClient) -> None:
    """Also where an agent is asked for, which is not known of it yet."""
    api.put_rows(replace(row(0), state=TraceState.OPEN, not_judged=NotJudged.WAITING), row(1))
    for filters in ({}, {"agent": "m"}):
        assert wait_until_judged(client, filters, patience=0.0) == Waited(2, 1, unjudged=1)


def test_an_unknown_trace_is_not_waited_for(client: ApiClient) -> None:
    """It is an error at once."""
    with pytest.raises(NotFoundError):
        wait_until_judged(client, {"trace": "f" * 32}, wait=never)
