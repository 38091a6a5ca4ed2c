"""The endpoints about human labels: taking, listing and withdrawing them, what to label next, export and import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any

from fastapi import FastAPI, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, create_model

from tracejury.collector.labels.labelling import Labelling
from tracejury.collector.queries.reader import Labels
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.annotations import LABELS, AnnotationDraft, Label, LabelOfSessions
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.filters import label_filters
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Position
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.wire.base import Page, WireModel, fill
from tracejury.schemas.wire.labels import (
    LABEL_MODELS,
    AgreementPage,
    AnnotationJson,
    DeletedLabelsJson,
    ImportedJson,
    JudgeQualityJson,
    MeasureAgreementJson,
    QualityPage,
    QueueItemJson,
    QueuePage,
    RefusedLine,
    StratumJson,
)

from .answers import documented, json_answer
from .params import Params, with_filters, write_cursor
from .params_labels import (
    ITEMS,
    MAX_ITEMS,
    AgreementParams,
    ForgetBody,
    ImportBody,
    LabelExportParams,
    LabelItem,
    LabelsParams,
    QualityParams,
    QueueParams,
    WithdrawParams,
    item_of,
    times,
)
from .prefixes import ERROR_DIGITS, whole_error_id, whole_session_id, whole_trace_id

JSON_LINES = "application/x-ndjson"
EXPORT_PAGE = 1000


def add_labels(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """All of them; `clock` gives unix nanos."""
    for kind, item in zip(LABELS, ITEMS, strict=True):
        add_kind(app, reader, clock, kind, item, LABEL_MODELS[kind.plural])
    _add_queue(app, reader, clock)
    _add_exchange(app, reader, clock)

    @app.delete("/api/annotations/{annotation_id:path}", responses=documented(AnnotationJson, 404))
    def withdraw(annotation_id: str, params: Annotated[WithdrawParams, Query()]) -> Response:
        """Take an annotation back: it is kept as withdrawn, and counts nowhere."""
        labelling = Labelling(reader, clock())
        gone = labelling.withdraw(annotation_id, trace_id=params.trace)
        labelling.save()
        return json_answer(fill(AnnotationJson, gone))

    @app.post("/api/labels/delete", responses=documented(DeletedLabelsJson))
    def forget(body: ForgetBody) -> Response:
        """Delete labels for good, withdrawn ones too: of whom, of which trace, run or session, or those of an id."""
        return json_answer({"deleted": reader.labels.delete(body.query())})


def add_kind(
    app: FastAPI, reader: StoredReader, clock: Callable[[], int], kind: type[Label], item: type[LabelItem], model: Any
) -> None:
    """The endpoints that list and take one kind of label; `model`: its JSON."""
    filters = label_filters(kind)

    def list_labels(params: Any) -> Response:
        query = _with_whole_ids(reader, [kind], params.query(clock(), filters))
        found = reader.labels.find(kind, replace(query, limit=query.limit + 1))
        shown = found[: query.limit]
        last = Position(shown[-1].changed_at, shown[-1].place) if len(found) > len(shown) else None
        more = write_cursor("cursor", last) if last else None
        unknown = _unknown(reader, query.service, found or query.before)
        return json_answer({"items": [fill(model, label) for label in shown], "next": more, "unknown": unknown})

    def take_labels(body: Any) -> Response:
        now = clock()
        labelling = Labelling(reader, now)
        taken = [labelling.take(_whole(reader, one.said(now))) for one in body.items]
        changed = labelling.changed
        labelling.save()
        return json_answer({"items": [fill(model, label) for label in taken], "changed": changed})

    plural = kind.plural.title().replace("-", "")
    items: Any = Annotated[list[item], Field(min_length=1, max_length=MAX_ITEMS)]  # type: ignore[valid-type]
    doc = f"{plural}: all are taken, or none."
    body = create_model(f"{plural}Body", __base__=Params, __doc__=doc, items=(items, ...))
    page = create_model(f"{model.__name__.removesuffix('Json')}Page", __base__=Page[model], __doc__=Page.__doc__)
    doc = "The labels as they are now, in the order of the request; `changed`: how many were news."
    shape: Any = {"items": (list[model], ...), "changed": (int, ...)}
    taken = create_model(f"Taken{plural}", __base__=WireModel, __doc__=doc, **shape)
    # FastAPI takes the models of parameters and bodies from annotations.
    list_labels.__annotations__["params"] = Annotated[with_filters(*filters)(LabelsParams), Query()]
    take_labels.__annotations__["body"] = body
    path = f"/api/{kind.plural}"
    app.get(path, name=kind.plural, description=kind.listing, responses=documented(page))(list_labels)
    app.post(path, name=kind.verb, description=kind.taking, responses=documented(taken, 404))(take_labels)


def _whole(reader: StoredReader, said: Label) -> Label:
    """With whole ids where only their beginnings are given, as lists show them; what names a judge may be elsewhere."""
    if isinstance(said, LabelOfSessions):
        ids: Any = {name: _whole_session(reader, [type(said)], getattr(said, name)) for name in said.sessions}
        return replace(said, **ids)
    if not isinstance(said, AnnotationDraft) or said.judge or not 0 < len(said.finding_id) < ERROR_DIGITS:
        return said
    return replace(said, finding_id=whole_error_id(reader, said.finding_id))


def _with_whole_ids(reader: StoredReader, kinds: Sequence[type[Label]], query: LabelQuery) -> LabelQuery:
    """Likewise of what is asked for."""
    session_id, trace_id = query.session_id, query.trace_id
    if session_id:
        session_id = _whole_session(reader, kinds, session_id)
    if trace_id and not _labelled(reader, kinds, LabelQuery(1, trace_id=trace_id, withdrawn=True)):
        with suppress(NotFoundError):
            trace_id = whole_trace_id(reader, trace_id)
    return replace(query, session_id=session_id, trace_id=trace_id)


def _whole_session(reader: StoredReader, kinds: Sequence[type[Label]], given: str) -> str:
    """A session that is gone keeps its id where something was said of it, and so does one that nobody knows.

    Where no session begins so, a trace may that is one of its own.
    """
    if reader.session_services(given) or _labelled(reader, kinds, LabelQuery(1, session_id=given, withdrawn=True)):
        return given
    for whole in (whole_session_id, whole_trace_id):
        with suppress(NotFoundError):
            return whole(reader, given)
    return given


def _labelled(reader: StoredReader, kinds: Sequence[type[Label]], query: LabelQuery) -> bool:
    return any(reader.labels.find(kind, query) for kind in kinds)


def _add_queue(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    @app.get("/api/labels/queue", responses=documented(QueuePage))
    def queue(params: Annotated[QueueParams, Query()]) -> Response:
        """Which agent runs or sessions to label next, and why."""
        items = [QueueItemJson.model_validate(item) for item in reader.labels.queue(params.query(clock()))]
        return json_answer({"items": items, "next": None, "unknown": _unknown(reader, params.service, items)})

    @app.get("/api/labels/quality", responses=documented(QualityPage))
    def quality(params: Annotated[QualityParams, Query()]) -> Response:
        """Precision and recall of each judge and detector against labels, and how much of each stratum is labelled."""
        since, until = times(params.since, params.until, clock())
        strata = reader.labels.strata(since, until, params.service)
        judges = reader.labels.quality(since, until, params.service, strata=strata)
        return json_answer(
            {
                "items": [JudgeQualityJson.model_validate(judge) for judge in judges],
                "next": None,
                "strata": [StratumJson.model_validate(stratum) for stratum in strata],
                "unknown": _unknown(reader, params.service, strata or judges),
            }
        )

    @app.get("/api/labels/agreement", responses=documented(AgreementPage))
    def agreement(params: Annotated[AgreementParams, Query()]) -> Response:
        """How often measures of sessions and scores of LLM judges go with which of two sessions people prefer."""
        found = reader.preferences(*times(params.since, params.until, clock()), params.service)
        items = [
            fill(MeasureAgreementJson, one.found, pack=one.pack, letter=one.letter, title=one.title)
            for one in found.measures
        ]
        unknown = _unknown(reader, params.service, found.pairs)
        return json_answer(fill(AgreementPage, found, items=items, next=None, unknown=unknown))


def _add_exchange(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    answers = documented(None)
    answers[200] = {"content": {JSON_LINES: {}}, "description": "One label a line, the earliest change first"}

    @app.get("/api/labels/export", responses=answers, response_class=StreamingResponse)
    def export(params: Annotated[LabelExportParams, Query()]) -> Response:
        """Every label of any kind, withdrawn ones too, as JSON lines that the import takes."""
        now = clock()
        query = _with_whole_ids(reader, LABELS, params.query(now, EXPORT_PAGE))
        scored = reader.score_outcomes.as_labels(query, now) if params.scores else ()
        safe = {"X-Content-Type-Options": "nosniff"}
        lines = chain(_lines(reader.labels, query), map(_line, scored))
        return StreamingResponse(lines, headers=safe, media_type=JSON_LINES)

    @app.post("/api/labels/import", responses=documented(ImportedJson))
    def take(body: ImportBody) -> Response:
        """Take labels from elsewhere: each is taken or refused for itself; the same again changes nothing."""
        labelling = Labelling(reader, clock(), only_new=body.only_new)
        refused: list[RefusedLine] = []
        for index, line in enumerate(body.items):
            try:
                labelling.take(item_of(line).said(clock()))
            except (ConfigError, NotFoundError) as error:
                refused.append(RefusedLine(index=index, detail=str(error)))
        changed = labelling.changed
        labelling.save()
        unchanged = len(body.items) - changed - len(refused)
        return json_answer({"changed": changed, "unchanged": unchanged, "refused": refused})


def _unknown(reader: StoredReader, service: str, found: object) -> Mapping[str, Sequence[str]]:
    """The service where nothing was found and nothing stored is of it, with the known ones."""
    return {} if found else reader.unknown_names({"service": service})


def _lines(labels: Labels, query: LabelQuery) -> Iterator[bytes]:
    """Each kind earliest first: what is changed meanwhile comes again, later, and nothing is left out."""
    for kind in LABELS:
        found: Sequence[Label] = ()
        at = query.after
        while at is not None:
            found = labels.find(kind, replace(query, after=at))
            yield b"".join(map(_line, found))
            at = Position(found[-1].changed_at, found[-1].place) if len(found) == query.limit else None


def _line(label: Label) -> bytes:
    return bytes_of(fill(LABEL_MODELS[label.plural], label)) + b"\n"
