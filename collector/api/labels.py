"""The endpoints about human labels: taking, listing and withdrawing them, what to label next, export and import."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Response
from fastapi.responses import StreamingResponse

from tracejury.collector.labels.labelling import AnnotationDraft, Labelling
from tracejury.collector.queries.present_labels import present_annotation, present_item, present_label
from tracejury.collector.queries.reader import Labels
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.annotations import Annotation, HumanScore, Review
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Position
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.wire.labels import (
    AnnotationJson,
    AnnotationPage,
    DeletedLabelsJson,
    HumanScorePage,
    ImportedJson,
    JudgeQualityJson,
    QualityPage,
    QueuePage,
    RefusedLine,
    ReviewPage,
    StratumJson,
    TakenAnnotations,
    TakenReviews,
    TakenScores,
)

from .answers import documented, json_answer
from .params import write_cursor
from .params_labels import (
    AnnotationItem,
    AnnotationsBody,
    AnnotationsParams,
    ForgetBody,
    ImportBody,
    LabelExportParams,
    LabelsParams,
    QualityParams,
    QueueParams,
    ReviewsBody,
    ScoreItem,
    ScoresBody,
    WithdrawParams,
    item_of,
    times,
)
from .prefixes import ERROR_DIGITS, whole_error_id

JSON_LINES = "application/x-ndjson"
EXPORT_PAGE = 1000

Label = TypeVar("Label", Annotation, HumanScore, Review)


def add_labels(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """All of them; `clock` gives unix nanos."""
    _add_annotations(app, reader, clock)
    _add_scores(app, reader, clock)
    _add_reviews(app, reader, clock)
    _add_queue(app, reader, clock)
    _add_exchange(app, reader, clock)

    @app.post("/api/labels/delete", responses=documented(DeletedLabelsJson))
    def forget(body: ForgetBody) -> Response:
        """Delete labels for good, withdrawn ones too: of whom, of which trace or run, or the annotations of an id."""
        return json_answer({"deleted": reader.labels.delete(body.query())})


def _add_annotations(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    @app.get("/api/annotations", responses=documented(AnnotationPage))
    def annotations(params: Annotated[AnnotationsParams, Query()]) -> Response:
        """People's opinions on findings, and errors that no finding names; latest change first."""
        return _page(reader, params.query(clock()), reader.labels.annotations)

    @app.post("/api/annotations", responses=documented(TakenAnnotations, 404))
    def annotate(body: AnnotationsBody) -> Response:
        """Take opinions and missed errors; one replaces what its annotator said of the same before."""
        now = clock()
        labelling = Labelling(reader, now)
        taken = [labelling.take_opinion(_whole(reader, item.draft(now))) for item in body.items]
        return _taken(labelling, taken)

    @app.delete("/api/annotations/{annotation_id:path}", responses=documented(AnnotationJson, 404))
    def withdraw(annotation_id: str, params: Annotated[WithdrawParams, Query()]) -> Response:
        """Take an annotation back: it is kept as withdrawn, and counts nowhere."""
        labelling = Labelling(reader, clock())
        gone = labelling.withdraw(annotation_id, trace_id=params.trace)
        labelling.save()
        return json_answer(present_annotation(gone))


def _whole(reader: StoredReader, said: AnnotationDraft) -> AnnotationDraft:
    """With the whole id where only its beginning is given, as lists show it; what names a judge may be elsewhere."""
    if said.judge or not 0 < len(said.finding_id) < ERROR_DIGITS:
        return said
    return replace(said, finding_id=whole_error_id(reader, said.finding_id))


def _add_scores(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    @app.get("/api/scores", responses=documented(HumanScorePage))
    def scores(params: Annotated[LabelsParams, Query()]) -> Response:
        """How good people find agent runs, latest change first."""
        return _page(reader, params.query(clock()), reader.labels.scores)

    @app.post("/api/scores", responses=documented(TakenScores, 404))
    def score(body: ScoresBody) -> Response:
        """Take scores; one replaces its annotator's score of the same run and dimension."""
        now = clock()
        labelling = Labelling(reader, now)
        return _taken(labelling, [labelling.take_score(item.label(now)) for item in body.items])


def _add_reviews(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    @app.get("/api/reviews", responses=documented(ReviewPage))
    def reviews(params: Annotated[LabelsParams, Query()]) -> Response:
        """Which agent runs people have looked at as a whole, latest change first."""
        return _page(reader, params.query(clock()), reader.labels.reviews)

    @app.post("/api/reviews", responses=documented(TakenReviews, 404))
    def review(body: ReviewsBody) -> Response:
        """Say that somebody has looked at the whole of agent runs: what they did not mark there, is no error."""
        now = clock()
        labelling = Labelling(reader, now)
        return _taken(labelling, [labelling.take_review(item.label(now)) for item in body.items])


def _add_queue(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    @app.get("/api/labels/queue", responses=documented(QueuePage))
    def queue(params: Annotated[QueueParams, Query()]) -> Response:
        """Which agent runs to label next, and why."""
        items = reader.labels.queue(params.query(clock()))
        unknown = _unknown(reader, params.service, items)
        return json_answer({"items": [present_item(item) for item in items], "next": None, "unknown": unknown})

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


def _add_exchange(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    answers = documented(None)
    answers[200] = {"content": {JSON_LINES: {}}, "description": "One label a line, the earliest change first"}

    @app.get("/api/labels/export", responses=answers, response_class=StreamingResponse)
    def export(params: Annotated[LabelExportParams, Query()]) -> Response:
        """Every annotation, score and review, withdrawn ones too, as JSON lines that the import takes."""
        query = params.query(clock(), EXPORT_PAGE)
        safe = {"X-Content-Type-Options": "nosniff"}
        return StreamingResponse(_lines(reader.labels, query), headers=safe, media_type=JSON_LINES)

    @app.post("/api/labels/import", responses=documented(ImportedJson))
    def take(body: ImportBody) -> Response:
        """Take labels from elsewhere: each is taken or refused for itself; the same again changes nothing."""
        labelling = Labelling(reader, clock(), only_new=body.only_new)
        refused: list[RefusedLine] = []
        for index, line in enumerate(body.items):
            try:
                _take(labelling, line, clock())
            except (ConfigError, NotFoundError) as error:
                refused.append(RefusedLine(index=index, detail=str(error)))
        changed = labelling.changed
        labelling.save()
        unchanged = len(body.items) - changed - len(refused)
        return json_answer({"changed": changed, "unchanged": unchanged, "refused": refused})


def _take(labelling: Labelling, line: dict[str, Any], now: int) -> None:
    item = item_of(line)
    if isinstance(item, AnnotationItem):
        labelling.take_opinion(item.draft(now))
    elif isinstance(item, ScoreItem):
        labelling.take_score(item.label(now))
    else:
        labelling.take_review(item.label(now))


def _taken(labelling: Labelling, taken: Sequence[Label]) -> Response:
    changed = labelling.changed
    labelling.save()
    return json_answer({"items": [present_label(label) for label in taken], "changed": changed})


def _page(reader: StoredReader, query: LabelQuery, ask: Callable[[LabelQuery], Sequence[Label]]) -> Response:
    found = ask(replace(query, limit=query.limit + 1))
    shown = found[: query.limit]
    last = Position(shown[-1].changed_at, shown[-1].place) if len(found) > len(shown) else None
    more = write_cursor("cursor", last) if last else None
    unknown = _unknown(reader, query.service, found or query.before)
    return json_answer({"items": [present_label(label) for label in shown], "next": more, "unknown": unknown})


def _unknown(reader: StoredReader, service: str, found: object) -> Mapping[str, Sequence[str]]:
    """The service where nothing was found and nothing stored is of it, with the known ones."""
    return {} if found else reader.unknown_names({"service": service})


def _lines(labels: Labels, query: LabelQuery) -> Iterator[bytes]:
    yield from _all(query, labels.annotations)
    yield from _all(query, labels.scores)
    yield from _all(query, labels.reviews)


def _all(query: LabelQuery, ask: Callable[[LabelQuery], Sequence[Label]]) -> Iterator[bytes]:
    """Earliest first: what is changed meanwhile comes again, later, and nothing is left out."""
    while True:
        found = ask(query)
        yield b"".join(bytes_of(present_label(label)) + b"\n" for label in found)
        if len(found) < query.limit:
            return
        query = replace(query, after=Position(found[-1].changed_at, found[-1].place))
