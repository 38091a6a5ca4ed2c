"""The inbox between commit and judging."""

from __future__ import annotations

from tracejury.collector.judging.detect.inbox import Inbox, by_trace
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import LogRecord, Span


def batch(trace_id: str, size: int) -> Batch:
    return Batch([Span(trace_id, "1", "", "n", 1, 2)], [], size)


def test_batches_come_out_in_order() -> None:
    """One take hands over all that waits."""
    inbox = Inbox(max_bytes=100)
    for name in ("a", "b", "c"):
        inbox.put(batch(name, 10), 1)
    assert [b.spans[0].trace_id for b, _ in inbox.take().batches] == ["a", "b", "c"]
    assert inbox.queued_bytes == 0
    assert not inbox.take().batches


def test_it_is_empty_only_when_what_was_taken_is_done() -> None:
    """Whoever waits for rest is not told so while the last batch is still being judged."""
    inbox = Inbox(max_bytes=100)
    inbox.put(batch("a", 10), 1)
    inbox.take()
    assert not inbox.empty
    inbox.done()
    assert inbox.empty


def test_beyond_the_bound_only_the_traces_are_kept() -> None:
    """Putting never blocks and loses nothing: the spans stand in the store."""
    inbox = Inbox(max_bytes=20)
    for name, size in [("a", 20), ("b", 1)]:
        inbox.put(batch(name, size), 1)
    taken = inbox.take()
    assert [b.spans[0].trace_id for b, _ in taken.batches] == ["a"]
    assert taken.asked == {("", "b")}
    assert inbox.spilled == 1


def test_a_batch_larger_than_the_bound_passes_alone() -> None:
    """Nothing is too large for an empty inbox."""
    inbox = Inbox(max_bytes=20)
    inbox.put(batch("a", 50), 1)
    assert len(inbox.take().batches) == 1


def test_rows_are_grouped_by_trace_and_loose_logs_left_out() -> None:
    """A log record without a trace id belongs to no trace."""
    spans = [Span("a", "1", "", "n", 1, 2), Span("b", "1", "", "n", 1, 2), Span("a", "2", "1", "n", 1, 2)]
    logs = [LogRecord("a", "1", 1, 1), LogRecord("", "", 1, 1)]
    groups = by_trace(Batch(spans, logs))
    assert {key[1]: (len(g.spans), len(g.logs)) for key, g in groups.items()} == {"a": (2, 1), "b": (1, 0)}


def test_it_is_not_empty_while_one_of_two_threads_works_on_what_it_took() -> None:
    """One stores a large trace while the other looks for more, finds nothing and is done."""
    inbox = Inbox(max_bytes=100)
    inbox.put(batch("a", 10), 1)
    inbox.take()
    inbox.take()
    inbox.done()
    assert not inbox.empty
    inbox.done()
    assert inbox.empty
