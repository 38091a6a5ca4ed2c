"""Open pages are told what changed: from any thread, bounded, and not at all once they are gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from memory_looks import MemoryLooks
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace

from tracejury.collector.web.change_feed import MAX_IDS, MAX_REMEMBERED, Pulse
from tracejury.collector.web.live import _trace_events
from tracejury.schemas.errors import OverloadedError
from tracejury.schemas.verdicts import Outcome


def told(pulse: Pulse, *findings: int) -> None:
    """Judge the trace from another thread, as the judging thread does."""
    judged = [a_judged_trace(*(a_finding(evidence=f"quote {n}") for n in findings))]
    thread = threading.Thread(target=pulse.judged, args=(judged,))
    thread.start()
    thread.join()


async def test_a_subscriber_is_told_what_changed() -> None:
    """Of its own trace only, by detectors and by LLM judges."""
    pulse = Pulse(MemoryLooks())
    async with pulse.subscribe(TRACE_ID) as mine, pulse.subscribe("f" * 32) as other, pulse.subscribe() as everything:
        told(pulse, 1)
        states = await mine.changed(10)
        assert states is not None
        assert list(states.values()) == ["current"]
        assert await everything.changed(10) == states
        assert await other.changed(0) is None
        pulse.heard([a_judged_subject("goal", a_finding(judge="goal"))])
        assert await mine.changed(10)


async def test_what_waits_is_one_mark_and_a_bounded_list() -> None:
    """However often it is told while it does not look: one wake-up, the latest findings."""
    pulse = Pulse(MemoryLooks())
    async with pulse.subscribe(TRACE_ID) as mine:
        for first in range(0, 2 * MAX_IDS, 50):
            told(pulse, *range(first, first + 50))
        states = await mine.changed(10)
        assert states is not None
        assert len(states) == MAX_IDS
        assert a_finding(evidence=f"quote {2 * MAX_IDS - 1}").id in states
        assert await mine.changed(0) is None


async def test_there_is_a_limit_to_subscribers() -> None:
    """One more is refused until another has left."""
    pulse = Pulse(MemoryLooks(), most=2)
    async with pulse.subscribe():
        async with pulse.subscribe():
            with pytest.raises(OverloadedError):
                pulse.subscribe()
        assert pulse.subscribers == 1
        async with pulse.subscribe():
            assert pulse.subscribers == 2
    assert pulse.subscribers == 0


async def test_no_address_takes_all_places() -> None:
    """One more of the same is refused in words; others, and who tells no address, find room."""
    pulse = Pulse(MemoryLooks(), most=4, most_of_one=2)
    async with pulse.subscribe(client="10.0.0.1"):
        async with pulse.subscribe(TRACE_ID, "10.0.0.1"):
            with pytest.raises(OverloadedError, match="2 live pages are open at your address"):
                pulse.subscribe(client="10.0.0.1")
            with pytest.raises(OverloadedError, match="2 live pages are open at your address"):
                pulse.must_have_room("10.0.0.1")
            async with pulse.subscribe(client="10.0.0.2"), pulse.subscribe():
                with pytest.raises(OverloadedError, match="too many live pages"):
                    pulse.must_have_room("10.0.0.3")
        pulse.must_have_room("10.0.0.1")


async def test_a_stream_that_lost_its_place_ends_at_once() -> None:
    """There was room when it was asked for, and none when it began: its answer is under way and can be no refusal."""
    pulse = Pulse(MemoryLooks(), most=1)
    stream = _trace_events(pulse, TRACE_ID, "")
    async with pulse.subscribe():
        assert await _rest(stream) == []
        assert pulse.subscribers == 1


async def test_a_stop_ends_all_streams_and_lets_no_more_begin() -> None:
    """The server waits for them."""
    pulse = Pulse(MemoryLooks())
    stream = _trace_events(pulse, TRACE_ID, "")
    assert await anext(stream) == "retry: 2000\n\n"
    waiting = asyncio.create_task(_rest(stream))
    await pulse.stop()
    assert await asyncio.wait_for(waiting, 10) == []
    assert pulse.subscribers == 0
    with pytest.raises(OverloadedError):
        pulse.subscribe()


async def _rest(stream: AsyncIterator[str]) -> list[str]:
    return [text async for text in stream]


async def test_who_was_away_is_told_at_once() -> None:
    """The page, or a browser that lost the stream, names how far it was; a mark of another process is behind."""
    pulse = Pulse(MemoryLooks())
    mark = pulse.mark(TRACE_ID)
    assert not pulse.is_behind(TRACE_ID, mark)
    told(pulse, 1)
    assert pulse.is_behind(TRACE_ID, mark)
    stream = _trace_events(pulse, TRACE_ID, mark)
    assert (await anext(stream)).startswith("retry")
    assert await anext(stream) == f"id: {pulse.mark(TRACE_ID)}\nevent: changed\ndata: {{}}\n\n"
    assert isinstance(stream, AsyncIterator)
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert pulse.subscribers == 0
    assert Pulse(MemoryLooks()).is_behind(TRACE_ID, pulse.mark(TRACE_ID))


def test_marks_of_traces_are_bounded() -> None:
    """Those of traces long ago are forgotten: their pages are told once too often."""
    pulse = Pulse(MemoryLooks())
    for number in range(MAX_REMEMBERED + 10):
        pulse.touched(f"{number:032x}")
    assert len(pulse._last) == MAX_REMEMBERED


def test_only_whole_traces_are_handed_on() -> None:
    """What stands for a part of a joined run, or could not be judged, is no trace to show."""
    looks = MemoryLooks()
    pulse = Pulse(looks)
    whole = a_judged_trace()
    part = a_judged_trace(joined_to="f" * 32)
    failed = a_judged_trace(outcome=Outcome.FAILED)
    pulse.judged([whole, part, failed])
    assert looks.told == [whole.trace]
