"""The endpoints that watch a process: whether it lives, whether it is ready, its own metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from tracejury import __version__
from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.otlp.receiver.ports import Endpoint
from tracejury.schemas.errors import TracejuryError

from .access import KEY
from .answers import json_answer, on_error, problem
from .guard import Guard
from .security import Tokens

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def create_watching_app(
    problems: Callable[[], Sequence[str]],
    losses: Callable[[], Sequence[str]],
    metrics: Callable[[], bytes],
    keyring: Keyring,
    *,
    receivers: Callable[[], Sequence[Endpoint]],
    any_host: bool,
    lags: Callable[[], Mapping[str, int]] = dict,
) -> FastAPI:
    """The application of a process that serves neither pages nor the rest of the API."""
    app = FastAPI(title="tracejury", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(Guard, tokens=Tokens(), receivers=receivers, any_host=any_host)
    for kind in (TracejuryError, Exception, HTTPException):
        app.add_exception_handler(kind, on_error)
    add_watching(app, problems, losses, metrics, keyring, lags)
    return app


def add_watching(
    app: FastAPI,
    problems: Callable[[], Sequence[str]],
    losses: Callable[[], Sequence[str]],
    metrics: Callable[[], bytes],
    keyring: Keyring,
    lags: Callable[[], Mapping[str, int]] = dict,
) -> None:
    """`/healthz`, `/readyz` and `/metrics`. `lags`: messages of Kafka that wait, by topic and partition.

    On the event loop: they must answer also while every thread of the pool waits for the store or for judging.
    """

    @app.get("/healthz")
    async def alive() -> Response:
        """The process answers."""
        return json_answer({"status": "ok", "version": __version__})

    @app.get("/readyz")
    async def ready(request: Request) -> Response:
        """200 once the store is open and the receivers listen, else 503 with what is missing.

        The status is `degraded` while stored rows are known to be lost, the disk has no room for more, or Kafka fails.
        """
        known = KEY in request.scope or not keyring.asks
        if missing := problems():
            return problem(503, "; ".join(missing) if known else "not ready")
        lost = losses()
        if lost and not known:
            return json_answer({"status": "degraded"})
        behind = {"kafka_lag": dict(waiting)} if known and (waiting := lags()) else {}
        return json_answer({"status": "degraded", "losses": lost, **behind} if lost else {"status": "ready", **behind})

    @app.get("/metrics")
    async def prometheus() -> Response:
        """The collector's own metrics in Prometheus' text format."""
        return Response(metrics(), headers={"Content-Type": METRICS_TYPE})
