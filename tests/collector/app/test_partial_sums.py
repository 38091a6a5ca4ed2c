"""Tokens and cost are marked as partial where an LLM call of a streamed run recorded no usage."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import httpx
from processes import serving, tracejury

from tracejury.collector.api.client import ApiClient
from tracejury.schemas.wire.traces import TraceRowJson

CAPTURE = Path(__file__).parents[2] / "judges" / "captures" / "pydantic_ai_stream.pb.gz"
PLUS = '<abbr title="1 LLM call recorded no tokens">+</abbr>'


def test_a_partial_sum_is_marked_wherever_it_is_shown(tmp_path: Path) -> None:
    """API, pages and command line, of the trace and of its session."""
    (tmp_path / "c.yaml").write_text("judging: {quiet_seconds: 0.3, rootless_seconds: 1.0}\n")
    with serving(tmp_path, "--config", "c.yaml") as ready, ApiClient(ready.url) as client:
        body = gzip.decompress(CAPTURE.read_bytes())
        sent = httpx.post(
            f"http://127.0.0.1:{ready.ports['http']}/v1/traces",
            content=body,
            headers={"Content-Type": "application/x-protobuf"},
        )
        assert sent.status_code == 200
        row = judged(client)
        assert (row.calls_without_usage, row.input_tokens) == (1, 16)
        tokens = client.trace(row.trace_id).tokens
        assert (tokens.llm_calls, tokens.calls_without_usage) == (2, 1)
        session = client.sessions({}, 10)[0][0]
        assert session.calls_without_usage == 1
        for path in ("/traces", f"/traces/{row.trace_id}", "/sessions"):
            assert PLUS in httpx.get(f"{ready.url}{path}", follow_redirects=True).text, path
        said = tracejury("trace", row.trace_id, "--url", ready.url, folder=tmp_path).stdout
        assert "tokens: 16+ in, 1+ out (1 LLM call without usage)" in " ".join(said.split())


def judged(client: ApiClient) -> TraceRowJson:
    """The only trace, once it is judged."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        rows = client.traces({}, 10)[0]
        if rows and rows[0].judged and rows[0].state == "settled":
            return rows[0]
        time.sleep(0.25)
    raise AssertionError("not judged in time")
