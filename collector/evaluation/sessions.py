"""The sessions of a folder's traces judged by packs, over a store of their own: the measures that a collector gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tracejury.collector.api.client import ApiClient
from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig, load_config
from tracejury.collector.judging.model.cassette import Cassette, CassetteOptions, open_cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.codec.groups import Request
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.wire.measures import MeasuresJson

from .folder import load
from .through import POLL_SECONDS

QUIET_SECONDS: Final = 1.0
NEVER: Final = 1e9
"""Seconds: sessions are closed once all traces are judged."""


def measure_sessions(
    folder: Path,
    llm: LlmConfig,
    options: CassetteOptions,
    filters: Mapping[str, str],
) -> MeasuresJson:
    """The measures of the sessions in `folder/traces`, as /api/measures gives them for `filters`; runs its own loop.

    Traces are sent in the order of their files. Where `llm` lets one call follow another, exchanges are judged in that
    order, too: what a check whose items settle asks next depends on what was answered before, and a cassette replays
    only the prompts that it holds.

    Raises:
        BrokenFileError: there are no traces, or a file holds none.
        ConfigError: no pack is named, or the model, the cassette or a filter cannot be used.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    if not llm.packs:
        raise ConfigError("name the packs to judge by: judges.packs in the --config file")
    requests = load(folder).requests
    asked = open_cassette(options, llm) if options.path or options.mode != "auto" else nullcontext()
    with asked as cassette, TemporaryDirectory(prefix="tracejury-sessions-") as place:
        return asyncio.run(_measured(requests, _config(Path(place), llm, cassette), cassette, filters))


def _config(place: Path, llm: LlmConfig, cassette: Cassette | None) -> CollectorConfig:
    """Production's defaults but for ports, place, and how long a trace and a session wait for more."""
    model = llm.model or next((about.model for about in (cassette.about if cassette else ())), "")
    more = {"model": model, "session_quiet_seconds": NEVER, "answer_cache_days": 0}
    quiet = {"quiet_seconds": QUIET_SECONDS, "rootless_seconds": QUIET_SECONDS}
    sections = {"store": {"dsn": f"chdb:///{place / 'db'}"}, "judging": quiet, "judges": llm.model_dump() | more}
    return load_config(None, sections | {name: {"endpoint": "127.0.0.1:0"} for name in ("grpc", "http", "api")})


async def _measured(
    requests: Sequence[Request], config: CollectorConfig, cassette: Cassette | None, filters: Mapping[str, str]
) -> MeasuresJson:
    async with Collector(config, cassette=cassette) as collector:

        def asked() -> MeasuresJson:
            with ApiClient(f"http://127.0.0.1:{collector.api_port}") as client:
                return client.measures(filters)

        await asyncio.to_thread(asked)  # a typing error should not cost a run
        await replay(requests, f"127.0.0.1:{collector.grpc_port}", "grpc", in_flight=1)
        await _until(lambda: collector.idle, collector)
        if (sessions := collector.sessions) is not None:
            sessions.end_all()
            await _until(lambda: not len(sessions) and collector.idle, collector)
        if cassette:
            cassette.all_answered()
        return await asyncio.to_thread(asked)


async def _until(reached: Callable[[], bool], collector: Collector) -> None:
    while not reached():
        if trouble := collector.judges().trouble:
            raise ConfigError(trouble)
        await asyncio.sleep(POLL_SECONDS)  # another thread's state, told by no event
