"""A disk without room for more: the readiness check says why requests are refused; what is stored is served."""

from __future__ import annotations

import httpx
import pytest
from collecting import configured
from otlp_parts import span, traces

from tracejury.collector.app.service import Collector


@pytest.mark.parametrize(("least", "ready"), [(0, True), (1 << 60, False)])
async def test_the_readiness_check_tells_of_a_full_disk(served_dsn: str, least: int, *, ready: bool) -> None:
    """It stays 200, so that people can still look, and delete."""
    config = configured(served_dsn, writer={"min_free_bytes": least})
    async with Collector(config) as collector, httpx.AsyncClient(timeout=30) as client:
        headers = {"content-type": "application/x-protobuf"}
        url = f"http://127.0.0.1:{collector.http_port}/v1/traces"
        sent = await client.post(url, content=traces(span()).SerializeToString(), headers=headers)
        told = await client.get(f"http://127.0.0.1:{collector.api_port}/readyz")
    assert (sent.status_code, told.status_code) == (200 if ready else 503, 200)
    if ready:
        assert told.json() == {"status": "ready"}
    else:
        (loss,) = told.json()["losses"]
        assert (told.json()["status"], "must stay free (writer.min_free_bytes)" in loss) == ("degraded", True)
