"""Collectors that pass on what they receive."""

from __future__ import annotations

import asyncio
from typing import Any

import collecting

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig


def configured(
    dsn: str, *backends: dict[str, Any], judges: dict[str, Any] | None = None, **export: Any
) -> CollectorConfig:
    """A collector on free ports that passes on to these backends; traces settle after a fifth of a second."""
    named = [{"name": f"backend-{number}", "timeout_seconds": 20} | backend for number, backend in enumerate(backends)]
    quickly = {"otlp": named, "retry_first_seconds": 0.01, "retry_longest_seconds": 0.05}
    return collecting.configured(
        dsn, store={"dsn": dsn, "retention_days": None}, judges=judges or {}, export=quickly | export
    )


def figures(collector: Collector) -> dict[str, float]:
    """What is counted of passing on: by name without its prefix, with the backend's number."""
    lines = collector.telemetry.prometheus().decode().splitlines()
    found = (line.rsplit(" ", 1) for line in lines if line.startswith("tracejury_export_"))
    names = ((key.removeprefix("tracejury_export_").partition("{"), value) for key, value in found)
    return {f"{name}:{rest[9:-2]}": float(value) for (name, _, rest), value in names}


async def counted(collector: Collector, name: str, least: float) -> None:
    """Wait until a figure has come to at least that."""
    async with asyncio.timeout(60):
        while figures(collector)[name] < least:  # noqa: ASYNC110  figures are asked for, as Prometheus does
            await asyncio.sleep(0.1)
