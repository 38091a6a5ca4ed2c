"""Metrics of the running collector's parts: gauges and counters that are kept elsewhere, read when someone asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejury.collector.telemetry import Telemetry

if TYPE_CHECKING:  # a process imports the parts that its role has
    from tracejury.collector.judging.detect.inbox import Inbox
    from tracejury.collector.judging.detect.worker import DetectWorker
    from tracejury.collector.store.writer import GroupCommitWriter

    from .store_follower import StoreFollower


def watch_writer(telemetry: Telemetry, writer: GroupCommitWriter) -> None:
    """Metrics of the group commit."""
    counts, counter, gauge = writer.counters, telemetry.counter, telemetry.gauge
    counter("otelcol_exporter_sent_spans", "Spans committed to the store", lambda: counts.committed_spans)
    counter("otelcol_exporter_sent_log_records", "Log records committed", lambda: counts.committed_logs)
    counter("tracejury_store_groups", "Inserts, each shared by the requests that waited", lambda: counts.groups)
    counter(
        "tracejury_store_failed_groups", "Inserts that failed and were retried or split", lambda: counts.failed_groups
    )
    counter("tracejury_store_refused_requests", "Requests told to try again", lambda: counts.refused_batches)
    counter("tracejury_store_failed_requests", "Requests that can never be stored", lambda: counts.failed_batches)
    counter("tracejury_store_dead_letters", "Requests kept in the dead-letter folder", lambda: counts.dead_lettered)
    counter("tracejury_store_left_out_items", "Spans and log records of deleted traces", lambda: counts.left_out)
    gauge("otelcol_exporter_queue_size", "Requests that wait for the store", lambda: writer.queue_batches)
    gauge("tracejury_store_queue_bytes", "Bytes that wait for the store", lambda: writer.queue_bytes, "By")


def watch_follower(telemetry: Telemetry, follower: StoreFollower) -> None:
    """Metrics of following other processes."""
    text = "Time since what other processes store was last read"
    telemetry.gauge("tracejury_store_follower_lag", text, lambda: follower.lag, "s")


def watch_judging(telemetry: Telemetry, inbox: Inbox, judging: DetectWorker) -> None:
    """Metrics of the detectors' judging."""
    open_traces, memory = judging.assembler, judging.memory
    counter, gauge = telemetry.counter, telemetry.gauge
    gauge("tracejury_judge_inbox_bytes", "Committed bytes that wait for judging", lambda: inbox.queued_bytes, "By")
    gauge("tracejury_judge_lag", "For how long what is due first waits for judging", lambda: judging.lag, "s")
    counter("tracejury_judge_spilled_requests", "Requests to be read back for judging", lambda: inbox.spilled)
    gauge("tracejury_judge_open_traces", "Traces that may still change", lambda: judging.open_traces)
    gauge("tracejury_judge_held_bytes", "Bytes of open traces in memory", lambda: open_traces.held_bytes, "By")
    counter("tracejury_judge_left_out_spans", "Spans beyond the limit of their trace", lambda: open_traces.over_limit)
    counter("tracejury_judge_forgotten_traces", "Open traces left to the next sweep", lambda: memory.forgotten)
