"""The text that `serve` prints once it is ready."""

from __future__ import annotations

from collections.abc import Mapping

from tracejury import __version__
from tracejury.collector.config import CollectorConfig
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.receiver.ports import url_of
from tracejury.collector.store.client import Store


def ready_text(config: CollectorConfig, ports: Mapping[str, int], store: str) -> str:
    """The bound endpoints, the store (as it may be shown) and the judges, a line each.

    `ports`: the bound ones of `grpc`, `http` and `api`.
    """
    url = {
        name: url_of(section.endpoint, ports[name], secure=section.tls is not None)
        for name, section in (("grpc", config.grpc), ("http", config.http), ("api", config.api))
    }
    return (
        f"tracejury {__version__} ready\n"
        f"  OTLP/gRPC  {url['grpc'].removeprefix('http://')}\n"
        f"  OTLP/HTTP  {url['http']}\n"
        f"  API        {url['api']}\n"
        f"  store      {store}\n"
        f"  judges     {judges_text(config.judges)}\n"
    )


def shown_store(store: Store) -> str:
    """The address of a store as it may be shown, and whether the start made it."""
    return store.target.shown + (" (new: there was none)" if store.is_new else "")


def judges_text(config: LlmConfig) -> str:
    """The judges in one line."""
    packs = f"; packs: {', '.join(config.packs)}" if config.packs else ""
    if not config.on:
        return f"detectors{packs or ' only'}; --model NAME adds LLM judges"
    where = f" at {config.api_base}" if config.api_base else ""
    return f"detectors and LLM judges ({config.criteria} criteria, {config.model}{where}{packs})"
