"""The endpoints that delete traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

from fastapi import FastAPI, Query, Response
from pydantic import Field, model_validator

from ...schemas.errors import ConfigError, NotFoundError
from ...schemas.filters import an_id
from ...schemas.queries.deletion import DeleteQuery
from ...schemas.wire.traces import DeletedJson
from .answers import documented, json_answer
from .params import Params, Text, moment

Delete = Callable[[DeleteQuery], int]
"""Deletes what is asked for and returns the number of traces; blocks."""

Labels = Annotated[bool, Field(description="Also what people said of them: annotations, scores, reviews")]


class DeleteParams(Params):
    """Of the deletion of one trace."""

    labels: Labels = False


class DeleteBody(Params):
    """The traces to delete: a session, or what arrived of a service before a point in time."""

    session: Text = ""
    service: Text = ""
    before: Annotated[Text, Field(description="A length of time back from now (30m, 1h, 2d) or ISO 8601")] = ""
    labels: Labels = False

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if bool(self.session) == bool(self.service) or bool(self.service) != bool(self.before):
            raise ValueError("name either session, or service and before")
        return self

    def query(self, now: int) -> DeleteQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        before = moment("before", self.before, now)
        if self.before and not before:
            raise ConfigError("before: nothing arrived before 1970")
        return DeleteQuery(session=self.session, service=self.service, before=before, labels=self.labels)


def add_deletion(app: FastAPI, delete: Delete, clock: Callable[[], int]) -> None:
    """`DELETE /api/traces/{trace_id}` and `POST /api/delete`."""

    @app.delete("/api/traces/{trace_id}", responses=documented(DeletedJson, 404))
    def delete_trace(trace_id: str, params: Annotated[DeleteParams, Query()]) -> Response:
        """Delete one trace, with the traces that are one run with it."""
        deleted = delete(DeleteQuery(trace_id=an_id(trace_id), labels=params.labels))
        if not deleted:
            hint = "" if params.labels else "; what people said of one that is gone goes with labels (--labels)"
            raise NotFoundError(f"no trace {an_id(trace_id)[:64]!r} is stored{hint}")
        return json_answer({"deleted": deleted})

    @app.post("/api/delete", responses=documented(DeletedJson))
    def delete_many(body: DeleteBody) -> Response:
        """Delete all traces of a session, or what arrived of a service before a point in time."""
        return json_answer({"deleted": delete(body.query(clock()))})
