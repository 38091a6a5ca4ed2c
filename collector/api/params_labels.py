"""Parameters and bodies of the endpoints about human labels. Any line of an export is a body's item as it stands."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from tracejury.collector.labels.labelling import AnnotationDraft
from tracejury.schemas.annotations import HumanScore, Opinion, Review
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import ANNOTATION_FILTERS, LABEL_FILTERS, Filter, an_id, field_values, named
from tracejury.schemas.queries.labels import OVERLAP, LabelQuery, Purpose, QueueQuery
from tracejury.schemas.queries.reader import Position
from tracejury.schemas.taxonomy import Dimension, Severity

from .params import Cursor, Limit, Params, Simulated, Since, Text, late_moment, moment, read_cursor, with_filters

MAX_ITEMS = 100
"""Labels of one request."""
MAX_QUEUE = 500


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("true and false are no numbers")  # noqa: TRY004  pydantic turns ValueError into a refusal
    return value


Given = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text that may be left out or null."""
Changed = Annotated[Given, Field(max_length=100, description="When it was said, ISO 8601; without it: now")]


class AnnotationItem(Params):
    """A person's opinion on a finding, from which all that is left out follows; or a missed error."""

    kind: Literal["annotation"] = "annotation"
    annotator: str
    opinion: Opinion
    finding_id: Annotated[
        Given, Field(description="The finding or error that it is about, unless opinion is missed")
    ] = ""
    trace_id: Given = ""
    span_id: Annotated[Given, Field(description="Where the error was made: of other-span and missed")] = ""
    taxonomy: Given = ""
    category: Annotated[Given, Field(description="Of missed; one of TRAIL's unless taxonomy names another")] = ""
    severity: Annotated[Severity | None, Field(description="Of missed; MEDIUM unless given")] = None
    evidence: Given = ""
    explanation: Given = ""
    judge: Given = ""
    agent_run_id: Given = ""
    fingerprint: Given = ""
    id: Annotated[Given, Field(description="Of missed, where it has one; else it follows from what it says")] = ""
    withdrawn: bool = False
    changed_at: Changed = ""

    def draft(self, now: int) -> AnnotationDraft:
        """As it is taken. Raises ConfigError for a time that means nothing."""
        given = self.model_dump(exclude={"kind", "changed_at"})
        return AnnotationDraft(**given, changed_at=late_moment("changed_at", self.changed_at, now))


class ScoreItem(Params):
    """How good a person finds an agent run in one dimension; without a run: that of the trace's one manager."""

    kind: Literal["score"] = "score"
    annotator: str
    trace_id: str
    agent_run_id: Given = ""
    dimension: Dimension
    score: Annotated[int | None, BeforeValidator(_no_truth), Field(description="0 to 3, 3 best; null: not applicable")]
    explanation: Given = ""
    withdrawn: bool = False
    changed_at: Changed = ""

    def label(self, now: int) -> HumanScore:
        """As it is taken. Raises ConfigError for a time that means nothing."""
        given = self.model_dump(exclude={"kind", "changed_at"})
        return HumanScore(**given, changed_at=late_moment("changed_at", self.changed_at, now))


class ReviewItem(Params):
    """A person has looked at the whole of an agent run; without a run: as for scores."""

    kind: Literal["review"] = "review"
    annotator: str
    trace_id: str
    agent_run_id: Given = ""
    stratum: Annotated[Given, Field(description="As the queue gave it; without it, it calibrates nothing")] = ""
    probability: Annotated[float | None, BeforeValidator(_no_truth), Field(description="Likewise")] = None
    withdrawn: bool = False
    changed_at: Changed = ""

    def label(self, now: int) -> Review:
        """As it is taken. Raises ConfigError for a time that means nothing."""
        given = self.model_dump(exclude={"kind", "changed_at", "probability"})
        changed_at = late_moment("changed_at", self.changed_at, now)
        return Review(**given, probability=self.probability or 0.0, changed_at=changed_at)


class AnnotationsBody(Params):
    """Opinions and missed errors: all are taken, or none."""

    items: Annotated[list[AnnotationItem], Field(min_length=1, max_length=MAX_ITEMS)]


class ScoresBody(Params):
    """Scores: all are taken, or none."""

    items: Annotated[list[ScoreItem], Field(min_length=1, max_length=MAX_ITEMS)]


class ReviewsBody(Params):
    """Reviews: all are taken, or none."""

    items: Annotated[list[ReviewItem], Field(min_length=1, max_length=MAX_ITEMS)]


class ImportBody(Params):
    """Labels of any kind: each is taken or refused for itself."""

    items: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_ITEMS)]
    only_new: Annotated[bool, Field(description="Leave alone what anybody has said in its place")] = False


class WithdrawParams(Params):
    """Of a withdrawal."""

    trace: Annotated[Text, Field(description="Where annotations of several traces have that id")] = ""


class ForgetBody(Params):
    """Which labels to delete: those that are of all that is named. What is given must name something."""

    id: Annotated[Text, Field(description="Of annotations")] = ""
    trace: Text = ""
    run: Annotated[Text, Field(description="The id of the agent run")] = ""
    annotator: Text = ""

    @model_validator(mode="after")
    def _named(self) -> Self:
        # A blank that counted as not given would delete all that is of the rest.
        blank = sorted(name for name in self.model_fields_set if not getattr(self, name).strip())
        if blank:
            raise ValueError(f"{' and '.join(blank)} must not be blank")
        if not self.model_fields_set & {"id", "trace", "annotator"}:
            raise ValueError("name an id, a trace or an annotator")
        return self

    def query(self) -> LabelQuery:
        """As the question."""
        run, annotator = self.run.strip(), self.annotator.strip()
        return LabelQuery(0, id=self.id.strip(), trace_id=an_id(self.trace), agent_run_id=run, annotator=annotator)


@with_filters(*LABEL_FILTERS)
class _LabelFilters(Params):
    pass


class LabelsParams(_LabelFilters):
    """Of a list of labels."""

    since: Since = ""
    withdrawn: Annotated[bool, Field(description="Also those that were taken back")] = False
    limit: Limit = 100
    cursor: Cursor = ""

    def query(self, now: int, *filters: Filter) -> LabelQuery:
        """As the question, with further filters. Raises ConfigError on a value that means nothing."""
        return LabelQuery(
            limit=self.limit,
            **field_values((*LABEL_FILTERS, *filters), self),
            since=moment("since", self.since, now),
            withdrawn=self.withdrawn,
            before=read_cursor("cursor", self.cursor),
        )


@with_filters(*ANNOTATION_FILTERS)
class AnnotationsParams(LabelsParams):
    """Of a list of annotations."""

    def query(self, now: int, *filters: Filter) -> LabelQuery:
        """As of any labels."""
        return super().query(now, *ANNOTATION_FILTERS, *filters)


@with_filters(*named(LABEL_FILTERS, "trace", "annotator", "service"))
class _LabelExportFilters(Params):
    pass


class LabelExportParams(_LabelExportFilters):
    """Of an export: of everything, withdrawn ones too, unless narrowed."""

    since: Since = ""

    def query(self, now: int, limit: int) -> LabelQuery:
        """As the question for the earliest changes. Raises ConfigError on a value that means nothing."""
        given = field_values(named(LABEL_FILTERS, "trace", "annotator", "service"), self)
        since = moment("since", self.since, now)
        return LabelQuery(limit, **given, since=since, withdrawn=True, after=Position(0))


class QueueParams(Params):
    """Of the queue of runs to label; without times: of all that is stored."""

    purpose: Annotated[
        Purpose, Field(description="calibration: a random stratified sample; learning: what is disputed")
    ] = Purpose.CALIBRATION
    since: Since = ""
    until: Since = ""
    service: Text = ""
    annotator: Annotated[Text, Field(description="Whose queue: what they have reviewed is left out")] = ""
    overlap: Annotated[float, Field(ge=0, le=1, description="The share of runs that everybody is asked for")] = OVERLAP
    simulated: Simulated = False
    limit: Annotated[int, Field(ge=1, le=MAX_QUEUE)] = 50

    def query(self, now: int) -> QueueQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        since, until = times(self.since, self.until, now)
        return QueueQuery(
            self.purpose,
            since,
            until,
            self.limit,
            self.service,
            self.annotator.strip(),
            overlap=self.overlap,
            simulated=self.simulated,
        )


class QualityParams(Params):
    """Of how judges fare; by arrival of the runs, without times: of all that is stored."""

    since: Since = ""
    until: Since = ""
    service: Text = ""


def times(since: str, until: str, now: int) -> tuple[int, int]:
    """[since, until) in unix nanos; without an end what arrives just now is in it. Raises ConfigError."""
    begin, end = moment("since", since, now), late_moment("until", until, now) or now + 1
    if begin >= end:
        raise ConfigError("the time ends before it begins: until must lie after since")
    return begin, end


def item_of(line: dict[str, Any]) -> AnnotationItem | ScoreItem | ReviewItem:
    """A line of an import; without a kind it is an annotation. Raises ConfigError with one line on what is wrong."""
    try:
        return _ITEM.validate_python({"kind": "annotation"} | line)
    except ValidationError as error:
        first = error.errors()[0]
        place, why = ".".join(str(part) for part in first["loc"][1:]), first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{place}: {why}" if place else why) from None


_ITEM: TypeAdapter[AnnotationItem | ScoreItem | ReviewItem] = TypeAdapter(
    Annotated[AnnotationItem | ScoreItem | ReviewItem, Field(discriminator="kind")]
)
