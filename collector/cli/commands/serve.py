"""`tracejury serve`."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import click


@click.command("serve")
@click.option("--config", type=click.Path(path_type=Path), help="A YAML file; the options below win over it.")
@click.option("--role", metavar="ROLE", help="all (default), or a part of it: receive, work or web.")
@click.option("--store", metavar="DSN", help="Default chdb:///./.tracejury/db (embedded).")
@click.option("--grpc", default="", metavar="HOST:PORT", help="OTLP/gRPC; default 127.0.0.1:4317. Port 0: a free one.")
@click.option("--http", default="", metavar="HOST:PORT", help="OTLP/HTTP; default 127.0.0.1:4318.")
@click.option("--api", default="", metavar="HOST:PORT", help="The API; default 127.0.0.1:8321.")
@click.option("--model", default="", metavar="PROVIDER/NAME", help="Add LLM judges: a litellm model string.")
@click.option("--api-base", default="", metavar="URL", help="Where the model is served, if not at its provider.")
@click.option("--kafka", default="", metavar="HOST:PORT,…", help="Brokers of Kafka between receivers and workers.")
@click.option("--insecure", is_flag=True, help="Serve others than this machine although there are no keys yet.")
def serve_command(
    *,
    config: Path | None,
    role: str | None,
    store: str | None,
    grpc: str,
    http: str,
    api: str,
    model: str,
    api_base: str,
    kafka: str,
    insecure: bool,
) -> None:
    """Receive spans over OTLP, store them, and judge traces as they come in, until Ctrl-C or SIGTERM."""
    gc.disable()  # until it is ready, see `run_serve`
    # Before gRPC is imported, which reads it then: else it logs a line for every client that comes without TLS.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        from tracejury.collector.app.start import run_serve
        from tracejury.collector.config import load_config

        given = overrides(store=store, grpc=grpc, http=http, api=api, insecure=insecure, model=model, api_base=api_base)
        given |= {"role": role} if role is not None else {}
        run_serve(load_config(config, given | ({"kafka": {"brokers": kafka.split(",")}} if kafka else {})))
    finally:
        gc.enable()


def overrides(
    *, store: str | None, grpc: str, http: str, api: str, insecure: bool, model: str = "", api_base: str = ""
) -> dict[str, Any]:
    """The given options as a configuration file would have them."""
    found: dict[str, Any] = {}
    if store is not None:
        found["store"] = {"dsn": store}
    for name, endpoint in (("grpc", grpc), ("http", http), ("api", api)):
        if endpoint:
            found[name] = {"endpoint": endpoint}
    if model or api_base:
        found["judges"] = {key: value for key, value in (("model", model), ("api_base", api_base)) if value}
    if insecure:
        found["insecure"] = True
    return found
