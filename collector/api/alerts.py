"""The endpoint of alert rules and what they told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Response

from tracejury.collector.queries.present_alerts import present_alerts
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.wire.alerts import AlertsJson

from .answers import documented, json_answer
from .params import Limit, Params


class AlertsParams(Params):
    """How much of the past."""

    limit: Limit = 100


def add_alerts(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/alerts`; `clock` gives unix nanos."""

    @app.get("/api/alerts", responses=documented(AlertsJson))
    def list_alerts(params: Annotated[AlertsParams, Query()]) -> Response:
        """Alert rules with their figures and states now, and the latest messages."""
        return json_answer(present_alerts(reader.alerts.answer(params.limit, clock())))
