"""The text that `serve` prints once it is ready."""

from __future__ import annotations

from collections.abc import Mapping

from tracejury import __version__
from tracejury.collector.config import CollectorConfig, Role
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.receiver.ports import url_of
from tracejury.collector.store.client import Store

from .endpoints import listeners

_SHOWN = {"grpc": "OTLP/gRPC", "http": "OTLP/HTTP", "api": "API"}


def ready_text(config: CollectorConfig, ports: Mapping[str, int], store: str) -> str:
    """The role unless it is all, the bound endpoints, the store (as it may be shown) and the judges, a line each.

    `ports`: the bound ones of `grpc`, `http` and `api`.
    """
    role = config.role
    lines = [] if role is Role.ALL else [("role", role.value)]
    for name, section in listeners(config):
        url = url_of(section.endpoint, ports[name], secure=section.tls is not None)
        shown = _SHOWN[name] if name != "api" or role.shows else "health"
        lines.append((shown, url.removeprefix("http://") if name == "grpc" else url))
    if config.kafka and role is not Role.WEB:
        lines.append(("Kafka", ", ".join(config.kafka.brokers)))
    lines.append(("store", "none: workers read from Kafka" if config.relays else store))
    if role.works:
        lines.append(("judges", judges_text(config.judges)))
    return "".join([f"tracejury {__version__} ready\n", *(f"  {name:<9}  {text}\n" for name, text in lines)])


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
