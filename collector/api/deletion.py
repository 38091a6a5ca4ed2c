"""The endpoints that delete traces, and the receipts of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Self

from fastapi import FastAPI, Query, Response
from pydantic import Field, model_validator

from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.receipts import DeletionReceipt
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.receipts import DeletedJson, ReceiptJson, ReceiptPage

from .answers import documented, json_answer
from .params import Params, Text, moment

Delete = Callable[[DeleteQuery], DeletionReceipt]
"""Deletes what is asked for; blocks."""
Receipts = Callable[[int], Sequence[DeletionReceipt]]
"""The latest receipts, up to so many; blocks."""

Labels = Annotated[bool, Field(description="Also what people said of them and of their sessions")]


class DeleteParams(Params):
    """Of the deletion of one trace."""

    labels: Labels = False


class DeleteBody(Params):
    """The traces to delete: a user's, a session's, or what arrived of a service before a point in time."""

    user: Annotated[Text, Field(description="An id as agents send it, also where redaction hashes it")] = ""
    session: Text = ""
    service: Text = ""
    before: Annotated[Text, Field(description="A length of time back from now (30m, 1h, 2d) or ISO 8601")] = ""
    labels: Labels = False

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if sum(map(bool, (self.user, self.session, self.service))) != 1 or bool(self.service) != bool(self.before):
            raise ValueError("name one of user, session, or service and before")
        return self

    def query(self, now: int) -> DeleteQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        before = moment("before", self.before, now)
        if self.before and not before:
            raise ConfigError("before: nothing arrived before 1970")
        return DeleteQuery(
            session=self.session, service=self.service, before=before, labels=self.labels, user=self.user
        )


class ReceiptsParams(Params):
    """Of the list of receipts."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 100


def add_deletion(app: FastAPI, delete: Delete, receipts: Receipts, clock: Callable[[], int]) -> None:
    """`DELETE /api/traces/{trace_id}`, `POST /api/delete` and `GET /api/receipts`."""

    @app.delete("/api/traces/{trace_id}", responses=documented(DeletedJson, 404))
    def delete_trace(trace_id: str, params: Annotated[DeleteParams, Query()]) -> Response:
        """Delete one trace, with the traces that are one run with it."""
        receipt = delete(DeleteQuery(trace_id=an_id(trace_id), labels=params.labels))
        if not receipt.traces:
            hint = "" if params.labels else "; what people said of one that is gone goes with labels (--labels)"
            raise NotFoundError(f"no trace {an_id(trace_id)[:64]!r} is stored{hint}")
        return _deleted(receipt)

    @app.post("/api/delete", responses=documented(DeletedJson))
    def delete_many(body: DeleteBody) -> Response:
        """Delete all traces of a user or a session, or what arrived of a service before a point in time."""
        return _deleted(delete(body.query(clock())))

    @app.get("/api/receipts", responses=documented(ReceiptPage))
    def list_receipts(params: Annotated[ReceiptsParams, Query()]) -> Response:
        """What deletions have removed, the latest first."""
        return json_answer(ReceiptPage(items=list(map(as_wire, receipts(params.limit)))).model_dump())


def _deleted(receipt: DeletionReceipt) -> Response:
    return json_answer(DeletedJson(deleted=receipt.traces, receipt=as_wire(receipt)).model_dump())


def as_wire(receipt: DeletionReceipt) -> ReceiptJson:
    """The receipt as it is sent."""
    return fill(ReceiptJson, receipt, id=receipt.receipt_id)
