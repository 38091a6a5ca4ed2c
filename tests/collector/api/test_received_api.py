"""A trace as it came, by its id."""

from __future__ import annotations

from pathlib import Path

from served_api import Api
from store_parts import TRACE_ID, a_span

from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.otlp.files import read


def test_what_was_received_comes_as_lines_of_otlp(api: Api, tmp_path: Path) -> None:
    """Read from a file it is the same span again; a trace that is not stored is 404."""
    api.put_spans(a_span())
    answer = api.client.get(f"/api/traces/{TRACE_ID}/otlp")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    path = tmp_path / "trace.json"
    path.write_bytes(answer.content)
    (span,) = stored(source.request for source in read([path])).spans
    assert (span.trace_id, span.span_id, span.name) == (TRACE_ID, a_span().span_id, a_span().name)
    missing = api.client.get(f"/api/traces/{'0' * 32}/otlp")
    assert missing.status_code == 404
    assert "is stored" in missing.json()["detail"]
