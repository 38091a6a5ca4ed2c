"""Requests through a whole collector: its receivers, store, pipeline and API, over a store of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tracejury.collector.api.client import ApiClient
from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig, load_config
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.judges.agreement import Predicted
from tracejury.schemas.errors import RetryableError

from .predictions import Predictions, predicted_error_from_json, predicted_from_json

POLL_SECONDS: Final = 0.1
PATIENCE_SECONDS: Final = 600.0
"""The longest wait for judging to come to rest after the last span was stored."""

ALL: Final = 1_000_000_000


def judge_through_collector(
    requests: Sequence[Request], protocol: str, progress: Callable[[str], None] = lambda _stage: None
) -> Predictions:
    """All findings and errors in the requests, by a collector on free ports; runs its own event loop.

    `progress` is told the stage in a few words.

    Raises:
        ConfigError: no such protocol, or the embedded engine is not installed.
        RetryableError: the collector could not keep up, or judging did not come to rest.
    """
    if not _any_trace(requests):
        return Predictions(())
    with TemporaryDirectory(prefix="tracejury-evaluate-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(_judge(requests, protocol, _config(Path(folder)), progress))


def _config(folder: Path) -> CollectorConfig:
    """Production's defaults but for ports, place, and how long a trace that will get no more spans is waited for."""
    anywhere = {"endpoint": "127.0.0.1:0"}
    return load_config(
        None,
        {
            "store": {"dsn": f"chdb:///{folder / 'db'}"},
            "grpc": anywhere,
            "http": anywhere,
            "api": anywhere,
            "judging": {"quiet_seconds": 1.0, "rootless_seconds": 1.0},
        },
    )


async def _judge(
    requests: Sequence[Request], protocol: str, config: CollectorConfig, progress: Callable[[str], None]
) -> Predictions:
    async with Collector(config) as collector:
        port = collector.grpc_port if protocol == "grpc" else collector.http_port
        progress(f"sending over {protocol}")
        sent = await replay(requests, f"127.0.0.1:{port}", protocol)
        progress("judging")
        await _rest(collector, _any_trace(requests))
        progress("reading findings")
        found, errors = await asyncio.to_thread(_read, collector.api_port)
        return Predictions(found, refused=sent.rejected, errors=errors)


async def _rest(collector: Collector, trace_id: str) -> None:
    """Wait until all that was stored is judged and what came of it is stored, too.

    A trace may be closed while its findings are still on their way to the store. So one trace is judged again: the
    answer comes after everything that was at hand before it.
    """
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            at_rest = False
            while not at_rest:
                while not collector.idle:  # noqa: ASYNC110  another thread's state, told by no event
                    await asyncio.sleep(POLL_SECONDS)
                await asyncio.to_thread(collector.judge_again, [trace_id])
                at_rest = collector.idle
    except TimeoutError:
        raise RetryableError(f"judging did not come to rest within {PATIENCE_SECONDS:.0f} s") from None


def _any_trace(requests: Sequence[Request]) -> str:
    return next((str(s.trace_id.hex()) for r in requests if schema_of(r) is SPANS for _, _, s in rows(r)), "")


def _read(port: int) -> tuple[tuple[Predicted, ...], tuple[Predicted, ...]]:
    """Findings and errors."""
    with ApiClient(f"http://127.0.0.1:{port}") as client:
        found, _ = client.findings({"profile": "0"}, ALL)
        errors, _ = client.errors({"profile": "0"}, ALL)
    return tuple(map(predicted_from_json, found)), tuple(map(predicted_error_from_json, errors))
