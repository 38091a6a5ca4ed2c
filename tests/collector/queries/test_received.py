"""A trace written to a file is what was received of it."""

from __future__ import annotations

import json
from pathlib import Path

from store_parts import a_log, a_span
from trail_folder import write

from tracejury.collector.api.received import json_lines
from tracejury.collector.cli.reviewed_traces import Reviewed
from tracejury.collector.evaluation.folder import load
from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.otlp.files import read
from tracejury.schemas.queries.reader import Received


def test_what_is_written_reads_as_what_was_stored(tmp_path: Path) -> None:
    """Spans and log records, with their resources, scopes and events, through OTLP/JSON and the receiver."""
    spans = stored(load(write(tmp_path / "x", ["a" * 32], {})).requests).spans
    log = a_log(trace_id="a" * 32, span_id=spans[0].span_id)
    path = tmp_path / "trace.json"
    path.write_bytes(json_lines(Received(spans, [log])))
    again = stored(source.request for source in read([path]))
    assert sorted(again.spans, key=lambda s: s.span_id) == sorted(spans, key=lambda s: s.span_id)
    (record,) = again.logs
    assert (record.span_id, record.attributes, record.event_name) == (log.span_id, log.attributes, log.event_name)
    assert json.loads(record.body) == json.loads(log.body)
    assert again.refused == 0


def test_announcements_of_spans_are_no_spans(tmp_path: Path) -> None:
    """What has only begun is not in the file."""
    path = tmp_path / "trace.json"
    path.write_bytes(json_lines(Received([a_span(), a_span(span_id="f" * 16, pending=True)], [])))
    assert [s.span_id for s in stored(source.request for source in read([path])).spans] == [a_span().span_id]


def test_reviewed_traces_of_an_export_in_pieces() -> None:
    """Reviews that stand, wherever a piece ends; other labels name no trace."""
    rows = (
        b'{"kind":"annotation","trace_id":"other"}\n'
        b'{"kind":"review","trace_id":"t1","agent_run_id":"r","annotator":"a","withdrawn":false}\n'
        b'{"kind":"review","trace_id":"t2","agent_run_id":"r","annotator":"a","withdrawn":false}\n'
        b'{"kind":"review","trace_id":"t2","agent_run_id":"r","annotator":"a","withdrawn":true}\n'
    )
    for size in (1, 7, 1000):
        reviewed = Reviewed()
        for first in range(0, len(rows), size):
            reviewed.feed(rows[first : first + size])
        assert reviewed.trace_ids == ["t1"]
