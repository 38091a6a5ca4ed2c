"""What `serve` prints once it is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import __version__
from ..judging.model.config import LlmConfig
from ..otlp.receiver.ports import split_endpoint

if TYPE_CHECKING:
    from .service import Collector


def ready_text(collector: Collector) -> str:
    """The bound endpoints, the store and the judges, a line each."""
    config = collector.config
    host = {name: split_endpoint(getattr(config, name).endpoint)[0] for name in ("grpc", "http", "api")}
    return (
        f"tracejury {__version__} ready\n"
        f"  OTLP/gRPC  {host['grpc']}:{collector.grpc_port}\n"
        f"  OTLP/HTTP  http://{host['http']}:{collector.http_port}\n"
        f"  API        http://{host['api']}:{collector.api_port}\n"
        f"  store      {collector.store_shown}\n"
        f"  judges     {judges_text(collector.config.judges)}\n"
    )


def judges_text(config: LlmConfig) -> str:
    """Who judges, in one line."""
    if not config.on:
        return "detectors only; --model NAME adds LLM judges"
    where = f" at {config.api_base}" if config.api_base else ""
    return f"detectors and LLM judges ({config.criteria} criteria, {config.model}{where})"
