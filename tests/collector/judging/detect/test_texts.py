"""Texts for search: many at once, beside judging; none is lost with a failure or a process, none outlives its trace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest
from store_parts import a_judged_trace, a_run, a_span

from tracejury.collector.judging.detect.texts import TextWriter
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.texts import LOST, StoredTexts, TraceText
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedTrace, Outcome

IDS = [f"{n:032x}" for n in range(1, 6)]
LATE = 10 * LOST
NOW = 20 * LOST


def a_trace(trace_id: str = IDS[0], goal: str = "book a flight", judged_at: int = 1, **how: object) -> JudgedTrace:
    return a_judged_trace(trace_id=trace_id, runs=(a_run(goal=goal),), judged_at=judged_at, **how)  # type: ignore[arg-type]


def texts(store: SharedStore) -> dict[str, str]:
    return dict(store.rows("SELECT TraceId, Text FROM texts FINAL ORDER BY TraceId"))  # type: ignore[arg-type]


def inserts(store: SharedStore) -> int:
    [(count,)] = store.rows("SELECT count(DISTINCT _part) FROM texts")
    return int(count)


@pytest.fixture
def stored(store: SharedStore) -> StoredTexts:
    return StoredTexts(store)


def test_texts_of_several_judgings_are_stored_together(store: SharedStore, stored: StoredTexts) -> None:
    """However often it is told meanwhile; of a trace that was judged twice the later text stands."""
    writer = TextWriter(stored)
    for trace_id in IDS:
        writer.traces_judged([a_trace(trace_id)])
    writer.traces_judged([a_trace(goal="Book a HOTEL", judged_at=2)])
    assert texts(store) == {}
    writer.flush()
    found = texts(store)
    assert list(found) == IDS
    assert "book a hotel" in found[IDS[0]]
    assert "flight" in found[IDS[1]]
    assert inserts(store) == 1


@pytest.mark.parametrize(
    "judged",
    [a_trace(state=TraceState.OPEN), a_trace(outcome=Outcome.FILTERED), a_trace(joined_to=IDS[1])],
    ids=["open", "filtered", "joined"],
)
def test_what_has_no_text(store: SharedStore, stored: StoredTexts, judged: JudgedTrace) -> None:
    """Open traces are searched by their summaries, our own calls by nobody, joined ones with the first of their run."""
    writer = TextWriter(stored)
    writer.traces_judged([judged])
    writer.flush()
    assert texts(store) == {}


def test_more_than_may_wait_is_stored_at_once(store: SharedStore, stored: StoredTexts) -> None:
    """Memory is bounded: who brings more waits until it is stored."""
    writer = TextWriter(stored, max_characters=50)
    writer.traces_judged([a_trace(IDS[0])])
    assert texts(store) == {}
    writer.traces_judged([a_trace(IDS[1], goal="x" * 60)])
    assert list(texts(store)) == IDS[:2]


class Failing(StoredTexts):
    """A store that fails as told, once each; else it stores."""

    def __init__(self, stored: StoredTexts, *errors: Exception, poison: str = "") -> None:
        super().__init__(stored._store, clock=stored._clock)
        self.errors, self.poison = list(errors), poison

    def keep(self, texts: Sequence[TraceText]) -> None:
        if self.errors:
            raise self.errors.pop(0)
        if any(text.key[1] == self.poison for text in texts):
            raise StoreError("never")
        super().keep(texts)


def test_a_passing_failure_loses_nothing(store: SharedStore, stored: StoredTexts) -> None:
    """What could not be stored is stored with the next; not over a newer one of its trace."""
    writer = TextWriter(Failing(stored, RetryableError("busy")))
    writer.traces_judged([a_trace(IDS[0]), a_trace(IDS[1])])
    with pytest.raises(RetryableError):
        writer.flush()
    writer.traces_judged([a_trace(IDS[0], goal="book a hotel", judged_at=2)])
    writer.flush()
    assert list(texts(store)) == IDS[:2]
    assert "hotel" in texts(store)[IDS[0]]


def stored_traces(store: SharedStore, *names: str) -> None:
    """Traces with a span each, judged long ago; their text is lost."""
    spans = [a_span(trace_id=name, name=f"book {name}", start=1, end=2) for name in names]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, 5))
    StoredJudging(store).save([a_trace(name, judged_at=LATE, received=5) for name in names])


async def until_stored(store: SharedStore, names: Sequence[str]) -> None:
    async with asyncio.timeout(60):
        while list(texts(store)) != list(names):  # noqa: ASYNC110  the store tells nobody
            await asyncio.sleep(0.02)


async def test_more_than_may_wait_for_a_store_that_is_away_is_read_again(
    store: SharedStore, stored: StoredTexts
) -> None:
    """Memory holds so many texts; of the others the names, until the store works; then they are made of the spans."""
    stored_traces(store, *IDS)
    failing = Failing(stored, *(RetryableError("away") for _ in range(20)))
    writer = TextWriter(failing, max_characters=1, every=0.01, clock=lambda: LATE)
    writer.traces_judged([a_trace(i, judged_at=LATE, received=5) for i in IDS])
    assert (len(writer), texts(store)) == (len(IDS), {})
    failing.errors.clear()
    writer.start()
    await until_stored(store, IDS)
    writer.stop(60)
    assert "book a flight" in texts(store)[IDS[0]], "the first one waits in memory"
    assert all(f"book {name}" in texts(store)[name] for name in IDS[1:])
    assert (len(writer), writer.lost) == (0, 0)


def test_a_text_that_can_never_be_stored_stops_no_other(
    store: SharedStore, stored: StoredTexts, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named in the log."""
    writer = TextWriter(Failing(stored, poison=IDS[1]))
    writer.traces_judged([a_trace(i) for i in IDS])
    with caplog.at_level(logging.WARNING):
        writer.flush()
    assert list(texts(store)) == [IDS[0], *IDS[2:]]
    assert writer.lost == 1
    assert [IDS[1] in record.getMessage() for record in caplog.records] == [True]


def test_a_text_is_not_stored_of_a_trace_deleted_meanwhile(store: SharedStore, stored: StoredTexts) -> None:
    """As it arrived before; what arrives after the deletion is."""
    writer = TextWriter(stored)
    writer.traces_judged([a_trace(IDS[0], received=5), a_trace(IDS[1], received=5)])
    store.deletions.hold([("", IDS[0])], 5)
    store.deletions.let_go([("", IDS[0])])
    writer.flush()
    assert list(texts(store)) == [IDS[1]]
    writer.traces_judged([a_trace(IDS[0], received=6)])
    writer.flush()
    assert list(texts(store)) == IDS[:2]


def test_what_a_killed_process_left_without_text_is_found(store: SharedStore, stored: StoredTexts) -> None:
    """Complete traces of its last hour, the last judged first; none that has no text by design, or has one."""
    old = a_trace("a" * 32, judged_at=LATE - 2 * LOST)
    kinds = [
        a_trace("b" * 32, judged_at=LATE, state=TraceState.OPEN),
        a_trace("c" * 32, judged_at=LATE, outcome=Outcome.FILTERED),
        a_trace("d" * 32, judged_at=LATE, joined_to=IDS[0]),
    ]
    lost = [a_trace(i, judged_at=LATE + n) for n, i in enumerate(IDS)]
    StoredJudging(store).save([old, *kinds, *lost])
    writer = TextWriter(stored)
    writer.traces_judged([lost[1]])
    writer.flush()
    assert stored.missing(NOW, 10) == [("", i) for i in (IDS[4], IDS[3], IDS[2], IDS[0])]
    assert stored.missing(NOW, 2) == [("", IDS[4]), ("", IDS[3])]


def test_what_this_process_judges_hides_nothing_that_an_earlier_one_left(
    store: SharedStore, stored: StoredTexts
) -> None:
    """However long the collector was away; and what it judges itself brings its text, too: it is not asked for."""
    StoredJudging(store).save([a_trace(IDS[0], judged_at=LATE), a_trace(IDS[1], judged_at=NOW + LATE)])
    assert stored.missing(NOW, 10) == [("", IDS[0])]


def test_nothing_is_missing_in_an_empty_store(stored: StoredTexts) -> None:
    """The first start asks for nothing."""
    assert stored.missing(NOW, 10) == []


async def test_a_start_makes_them_of_the_stored_spans(store: SharedStore, stored: StoredTexts) -> None:
    """Without judging anything again; a store that is away for a moment is tried again."""
    stored_traces(store, *IDS)
    judgements = store.rows("SELECT count() FROM judgements")

    class Away(Failing):
        """The first question finds no store."""

        def missing(self, before: int, limit: int) -> list[TraceKey]:
            if self.errors:
                raise self.errors.pop(0)
            return super().missing(before, limit)

    writer = TextWriter(Away(stored, RetryableError("away")), every=0.01, clock=lambda: NOW)
    writer.start()
    await until_stored(store, IDS)
    writer.stop(60)
    assert all(f"book {name}" in text for name, text in texts(store).items())
    assert store.rows("SELECT count() FROM judgements") == judgements
    assert stored.missing(NOW, 10) == []


def test_a_text_made_again_gives_way_to_a_later_judging(store: SharedStore, stored: StoredTexts) -> None:
    """It bears the time of the judging that it was lost with."""
    stored_traces(store, IDS[0])
    again = stored.read(("", IDS[0]))
    assert again
    stored.keep([again])
    writer = TextWriter(stored)
    writer.traces_judged([a_trace(goal="Book a HOTEL", judged_at=LATE + 1)])
    writer.flush()
    stored.keep([again])
    assert "book a hotel" in texts(store)[IDS[0]]
    assert stored.read(("", IDS[1])) is None
    assert stored.read(("other", IDS[0])) is None


def test_stopping_stores_what_waits(store: SharedStore, stored: StoredTexts) -> None:
    """A collector that is stopped leaves nothing without text."""
    writer = TextWriter(stored)
    writer.start()
    writer.traces_judged([a_trace()])
    writer.stop(60)
    assert list(texts(store)) == IDS[:1]
