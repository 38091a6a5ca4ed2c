"""Parameters and bodies of the endpoints about human labels. Any line of an export is a body's item as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, ClassVar, Final, Literal, Self, get_args, get_type_hints

from pydantic import BeforeValidator, Field, ValidationError, create_model, model_validator

from tracejury.collector.labels.checks import MAX_SESSION
from tracejury.judges.llm.problems import place_of, told
from tracejury.schemas.annotations import DRAFTS, AnnotationDraft, Label
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import LABEL_FILTERS, SESSION_LABEL_FILTERS, Filter, an_id, field_values, named
from tracejury.schemas.queries.labels import OVERLAP, LabelQuery, Purpose, QueueQuery
from tracejury.schemas.queries.reader import Position

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


class LabelItem(Params):
    """A label as a request or a line of an import says it."""

    label: ClassVar[type[Label]]

    def said(self, now: int) -> Label:
        """As it is taken. Raises ConfigError for a time that means nothing."""
        needed = {name for name, field in type(self).model_fields.items() if field.is_required()}
        given = {name: value for name, value in self if value is not None or name in needed}
        changed_at = late_moment("changed_at", given.pop("changed_at"), now)
        del given["kind"]
        return self.label(**given, changed_at=changed_at)


def item_model(label: type[Label]) -> type[LabelItem]:
    """The model of a kind of label in requests, in which fields with a default may be left out or null."""
    hints, described = get_type_hints(label), get_type_hints(label, include_extras=True)
    shapes: dict[str, Any] = {}
    for field in fields(label):
        shape = hints[field.name]
        if {int, float} & {shape, *get_args(shape)}:
            shape = Annotated[shape, BeforeValidator(_no_truth)]
        default = ... if field.default is MISSING else field.default if shape in (str, bool) else None
        shape = Given if shape is str and default == "" else shape | None if default is None else shape
        for text in getattr(described[field.name], "__metadata__", ()):
            shape = Annotated[shape, Field(description=text)]
        shapes[field.name] = (shape, default)
    del shapes["tenant"]
    kind: Any = Literal[label.kind]
    shapes |= {"kind": (kind, label.kind), "changed_at": (Changed, "")}
    doc = (label.__doc__ or "").partition("\n\n")[0]
    model = create_model(f"{label.kind.title()}Item", __base__=LabelItem, __doc__=doc, **shapes)
    model.label = label
    return model


class ImportBody(Params):
    """Labels of any kind: each is taken or refused for itself."""

    items: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_ITEMS)]
    only_new: Annotated[bool, Field(description="Leave alone what anybody has said in its place")] = False


class WithdrawParams(Params):
    """Of a withdrawal."""

    trace: Annotated[Text, Field(description="Where annotations of several traces have that id")] = ""


class ForgetBody(Params):
    """Which labels to delete: those that are of all that is named. What is given must name something."""

    id: Annotated[Text, Field(description="Of annotations, and of labels of sessions")] = ""
    trace: Text = ""
    run: Annotated[Text, Field(description="The id of the agent run")] = ""
    session: Annotated[str, Field(max_length=MAX_SESSION, description="The id of the session")] = ""
    annotator: Text = ""

    @model_validator(mode="after")
    def _named(self) -> Self:
        # A blank that counted as not given would delete all that is of the rest.
        blank = sorted(name for name in self.model_fields_set if not getattr(self, name).strip())
        if blank:
            raise ValueError(f"{' and '.join(blank)} must not be blank")
        if not self.model_fields_set & {"id", "trace", "session", "annotator"}:
            raise ValueError("name an id, a trace, a session or an annotator")
        return self

    def query(self) -> LabelQuery:
        """As the question."""
        run, annotator = self.run.strip(), self.annotator.strip()
        return LabelQuery(
            0,
            id=self.id.strip(),
            trace_id=an_id(self.trace),
            session_id=self.session,
            agent_run_id=run,
            annotator=annotator,
        )


class LabelsParams(Params):
    """Of a list of labels, without its filters."""

    since: Since = ""
    withdrawn: Annotated[bool, Field(description="Also those that were taken back")] = False
    limit: Limit = 100
    cursor: Cursor = ""

    def query(self, now: int, filters: Sequence[Filter]) -> LabelQuery:
        """As the question, with the list's filters. Raises ConfigError on a value that means nothing."""
        return LabelQuery(
            limit=self.limit,
            **field_values(filters, self),
            since=moment("since", self.since, now),
            withdrawn=self.withdrawn,
            before=read_cursor("cursor", self.cursor),
        )


_EXPORT_FILTERS: Final = (*named(LABEL_FILTERS, "trace", "annotator", "service"), SESSION_LABEL_FILTERS[0])


@with_filters(*_EXPORT_FILTERS)
class LabelExportParams(Params):
    """Of an export: of everything, withdrawn ones too, unless narrowed."""

    since: Since = ""
    scores: Annotated[
        bool,
        Field(description="Also labels of sessions that nobody has labelled, by scores of others that tell outcomes"),
    ] = False

    def query(self, now: int, limit: int) -> LabelQuery:
        """As the question for the earliest changes. Raises ConfigError on a value that means nothing."""
        given, since = field_values(_EXPORT_FILTERS, self), moment("since", self.since, now)
        return LabelQuery(limit, **given, since=since, withdrawn=True, after=Position(0))


class QueueParams(Params):
    """Of the queue of what to label; without times: of all that is stored."""

    purpose: Annotated[
        Purpose,
        Field(description="calibration: random runs; learning: disputed runs; sessions: random sessions"),
    ] = Purpose.CALIBRATION
    since: Since = ""
    until: Since = ""
    service: Text = ""
    annotator: Annotated[Text, Field(description="Whose queue: what they have labelled is left out")] = ""
    overlap: Annotated[float, Field(ge=0, le=1, description="The share that everybody is asked for")] = OVERLAP
    simulated: Simulated = False
    limit: Annotated[int, Field(ge=1, le=MAX_QUEUE)] = 50

    def query(self, now: int) -> QueueQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        since, until = times(self.since, self.until, now)
        who = self.annotator.strip()
        return QueueQuery(
            self.purpose, since, until, self.limit, self.service, who, overlap=self.overlap, simulated=self.simulated
        )


class QualityParams(Params):
    """Of how judges fare; by arrival of the runs, without times: of all that is stored."""

    since: Since = ""
    until: Since = ""
    service: Text = ""


class AgreementParams(Params):
    """Of how measures go with preferences; by when these were stated, without times: of all that are stored."""

    since: Since = ""
    until: Since = ""
    service: Text = ""


def times(since: str, until: str, now: int) -> tuple[int, int]:
    """[since, until) in unix nanos; without an end what arrives just now is in it. Raises ConfigError."""
    begin, end = moment("since", since, now), late_moment("until", until, now) or now + 1
    if begin >= end:
        raise ConfigError("the time ends before it begins: until must lie after since")
    return begin, end


def item_of(line: dict[str, Any]) -> LabelItem:
    """A line of an import; without a kind it is an annotation. Raises ConfigError with one line on what is wrong."""
    kind = line.get("kind", AnnotationDraft.kind)
    item = next((item for item in ITEMS if item.label.kind == kind), None)
    if item is None:
        raise ConfigError(f"kind {str(kind)[:40]!r} is none of {', '.join(item.label.kind for item in ITEMS)}")
    try:
        return item.model_validate(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{place_of(first)}: {told(first)}" if first["loc"] else told(first)) from None


ITEMS: Final = tuple(item_model(label) for label in DRAFTS)
"""Of all kinds of labels, in their order."""
