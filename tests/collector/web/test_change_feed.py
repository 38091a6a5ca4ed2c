"""Open pages are told what changed: from any thread, bounded, and not at all once they are gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace

from tracejury.collector.web.change_feed import MAX_IDS, MAX_REMEMBERED, ChangeFeed
from tracejury.collector.web.live import _trace_events
from tracejury.schemas.errors import OverloadedError
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Outcome


def ignored(_trace: Trace) -> None:
    """Nothing is cached."""


def told(change_feed: ChangeFeed, *findings: int) -> None:
    """Judge the trace from another thread, as the judging thread does."""
    judged = [a_judged_trace(*(a_finding(evidence=f"quote {n}") for n in findings))]
    thread = threading.Thread(target=change_feed.traces_judged, args=(judged,))
    thread.start()
    thread.join()


async def test_a_subscriber_is_told_what_changed() -> None:
    """Of its own trace only, by detectors and by LLM judges."""
    change_feed = ChangeFeed(ignored)
    async with (
        change_feed.subscribe(TRACE_ID) as mine,
        change_feed.subscribe("f" * 32) as other,
        change_feed.subscribe() as everything,
    ):
        told(change_feed, 1)
        states = await mine.wait(10)
        assert states is not None
        assert list(states.values()) == ["current"]
        assert await everything.wait(10) == states
        assert await other.wait(0) is None
        change_feed.subjects_judged([a_judged_subject("goal", a_finding(judge="goal"))])
        assert await mine.wait(10)


async def test_what_waits_is_one_mark_and_a_bounded_list() -> None:
    """However often it is told while it does not look: one wake-up, the latest findings."""
    change_feed = ChangeFeed(ignored)
    async with change_feed.subscribe(TRACE_ID) as mine:
        for first in range(0, 2 * MAX_IDS, 50):
            told(change_feed, *range(first, first + 50))
        states = await mine.wait(10)
        assert states is not None
        assert len(states) == MAX_IDS
        assert a_finding(evidence=f"quote {2 * MAX_IDS - 1}").id in states
        assert await mine.wait(0) is None


async def test_there_is_a_limit_to_subscribers() -> None:
    """One more is refused until another has left."""
    change_feed = ChangeFeed(ignored, most=2)
    async with change_feed.subscribe():
        async with change_feed.subscribe():
            with pytest.raises(OverloadedError):
                change_feed.subscribe()
        assert len(change_feed._subscribers) == 1
        async with change_feed.subscribe():
            assert len(change_feed._subscribers) == 2
    assert len(change_feed._subscribers) == 0


async def test_no_address_takes_all_places() -> None:
    """One more of the same is refused in words; others, and who tells no address, find room."""
    change_feed = ChangeFeed(ignored, most=4, most_of_one=2)
    async with change_feed.subscribe(client="10.0.0.1"):
        async with change_feed.subscribe(TRACE_ID, "10.0.0.1"):
            with pytest.raises(OverloadedError, match="2 live pages are open at your address"):
                change_feed.subscribe(client="10.0.0.1")
            with pytest.raises(OverloadedError, match="2 live pages are open at your address"):
                change_feed.check_capacity("10.0.0.1")
            async with change_feed.subscribe(client="10.0.0.2"), change_feed.subscribe():
                with pytest.raises(OverloadedError, match="too many live pages"):
                    change_feed.check_capacity("10.0.0.3")
        change_feed.check_capacity("10.0.0.1")


async def test_a_stream_that_lost_its_place_ends_at_once() -> None:
    """There was room when it was asked for, and none when it began: its answer is under way and can be no refusal."""
    change_feed = ChangeFeed(ignored, most=1)
    stream = _trace_events(change_feed, TRACE_ID, "")
    async with change_feed.subscribe():
        assert await _rest(stream) == []
        assert len(change_feed._subscribers) == 1


async def test_a_stop_ends_all_streams_and_lets_no_more_begin() -> None:
    """The server waits for them."""
    change_feed = ChangeFeed(ignored)
    stream = _trace_events(change_feed, TRACE_ID, "")
    assert await anext(stream) == b"retry: 2000\n\n"
    waiting = asyncio.create_task(_rest(stream))
    await change_feed.stop()
    assert await asyncio.wait_for(waiting, 10) == []
    assert len(change_feed._subscribers) == 0
    with pytest.raises(OverloadedError):
        change_feed.subscribe()


async def _rest(stream: AsyncIterator[bytes]) -> list[bytes]:
    return [text async for text in stream]


async def test_who_was_away_is_told_at_once() -> None:
    """The page, or a browser that lost the stream, names how far it was; a mark of another process is behind."""
    change_feed = ChangeFeed(ignored)
    mark = change_feed.version(TRACE_ID)
    assert not change_feed.is_behind(TRACE_ID, mark)
    told(change_feed, 1)
    assert change_feed.is_behind(TRACE_ID, mark)
    stream = _trace_events(change_feed, TRACE_ID, mark)
    assert (await anext(stream)).startswith(b"retry")
    assert await anext(stream) == f"event: changed\ndata: {{}}\nid: {change_feed.version(TRACE_ID)}\n\n".encode()
    assert isinstance(stream, AsyncIterator)
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert len(change_feed._subscribers) == 0
    assert ChangeFeed(ignored).is_behind(TRACE_ID, change_feed.version(TRACE_ID))


def test_marks_of_traces_are_bounded() -> None:
    """Those of traces long ago are forgotten: their pages are told once too often."""
    change_feed = ChangeFeed(ignored)
    for number in range(MAX_REMEMBERED + 10):
        change_feed.publish(f"{number:032x}")
    assert len(change_feed._last) == MAX_REMEMBERED


def test_only_whole_traces_are_handed_on() -> None:
    """What stands for a part of a joined run, or could not be judged, is no trace to show."""
    cached: list[Trace] = []
    change_feed = ChangeFeed(cached.append)
    whole = a_judged_trace()
    part = a_judged_trace(joined_to="f" * 32)
    failed = a_judged_trace(outcome=Outcome.FAILED)
    change_feed.traces_judged([whole, part, failed])
    assert cached == [whole.trace]
