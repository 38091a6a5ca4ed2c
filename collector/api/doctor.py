"""`/api/doctor`: what traces show of a program, what they lack, and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Response

from tracejury.collector.queries.doctor.ask import of_all, of_service, of_trace
from tracejury.collector.queries.present_doctor import present_diagnosis
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.filters import an_id
from tracejury.schemas.wire.doctor import DoctorPage

from .answers import documented, json_answer
from .params import DoctorParams


def add_doctor(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """The one endpoint; `clock` gives unix nanos."""

    @app.get("/api/doctor", responses=documented(DoctorPage, 404))
    def doctor(params: Annotated[DoctorParams, Query()]) -> Response:
        """The diagnosis of one trace, of one service, or of every service of the last day."""
        if params.trace:
            found = [of_trace(reader, an_id(params.trace))]
        elif params.service:
            found = [of_service(reader, params.service)]
        else:
            found = of_all(reader, clock())
        return json_answer({"items": [present_diagnosis(one) for one in found], "next": None})
