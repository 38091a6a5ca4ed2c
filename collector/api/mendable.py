"""`/api/mendable`: what a session got wrong and can still mend, for the hooks of coding agents."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from fastapi import FastAPI, Query, Response
from pydantic import Field

from tracejury.collector.queries.mendable import mendable_errors
from tracejury.collector.queries.present_errors import present_error
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.judges.registry import default_suite
from tracejury.judges.rule_settings import RuleSettings
from tracejury.judges.suite import Suite
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.wire.errors import MendableJson

from .answers import documented, json_answer
from .params import Params, Profile, Text


class MendableParams(Params):
    """Of which session."""

    session: Annotated[Text, Field(min_length=1, description="The id of a session")]
    service: Annotated[Text, Field(description="Only of this service, where several have a session of that id")] = ""
    profile: Profile = ""


def add_mendable(app: FastAPI, reader: StoredReader, settings: RuleSettings) -> None:
    """The one endpoint; detectors judge as `settings` have it."""

    @cache
    def suite() -> Suite:
        return default_suite(settings)

    @app.get("/api/mendable", responses=documented(MendableJson, 404))
    def mendable(params: Annotated[MendableParams, Query()]) -> Response:
        """Errors of a session's last trace that can still be mended, judged as if the session ended now."""
        found = mendable_errors(reader, suite(), params.session, params.service, Confidence.of(params.profile))
        items = [present_error(error) for error in found.errors]
        return json_answer(MendableJson(trace_id=found.trace_id, judged=found.judged, items=items))
