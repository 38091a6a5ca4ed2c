"""View model of a trace's page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

from tracejury.collector.queries.trace.assessment import TraceAssessment
from tracejury.collector.queries.trace.stored import StoredTraceQueries
from tracejury.collector.queries.trace.trace_index import REST, TraceIndex
from tracejury.collector.web.graph_drawing import GraphPicture, picture_of
from tracejury.collector.web.shown_measures import ShownMeasure
from tracejury.judges.measures.error_labels import label_of, labels_on
from tracejury.judges.packs.grades import mean_grades
from tracejury.processors.trace_outline import RunOutline, TraceOutline
from tracejury.schemas.agent_errors import ErrorSummary, summary
from tracejury.schemas.annotations import Annotation, ErrorLabel, HumanScore, Review
from tracejury.schemas.call_graph import CalleeKind, CallGraph
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.queries.scores import ScoresOf
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.naming import error_place
from tracejury.schemas.trace_status import TraceStatus, status_of
from tracejury.schemas.verdicts import Verdict

from .detail import Details
from .parts import Detail
from .shown_errors import ShownError, in_reading_order, worst
from .tree import Branch, TreeOptions, TreeView

MAX_OPENED: Final = 50
NONE_GIVEN: Final = ScoresOf()


@dataclass(frozen=True, slots=True)
class Ask:
    """Parameters of a trace's page. `at`: a key, else `span`; `only`: "errors" or all of the tree.

    `stratum` and `probability`: of the queue of labels that led here, for the run `drawn`. `gone`: the id of an error
    that holds no more, whose link led here.
    """

    span: str = ""
    at: str = ""
    profile: str = ""
    only: str = ""
    opened: Sequence[str] = ()
    stratum: str = ""
    probability: str = ""
    drawn: str = ""
    gone: str = ""
    whole: bool = False

    @classmethod
    def of(cls, params: Mapping[str, str], opened: Sequence[str] = ()) -> Ask:
        """From parameters."""
        return cls(
            span=params.get("span", "").strip().lower(),
            only="errors" if params.get("only") == "errors" else "",
            opened=opened[:MAX_OPENED],
            whole=params.get("whole") == "1",
            **{name: params.get(name, "") for name in ("at", "profile", "stratum", "probability", "drawn", "gone")},
        )

    @property
    def kept(self) -> str:
        """The parameters that links within the page carry on, to be put behind others: "&..." or ""."""
        named = {name: getattr(self, name) for name in ("profile", "only", "stratum", "probability", "drawn")}
        query = urlencode({name: value for name, value in named.items() if value})
        return f"&{query}" if query else ""


PARAMS: Final = tuple("open" if one.name == "opened" else one.name for one in fields(Ask))
"""The parameters of a trace's page."""

Key = TypeVar("Key")
Item = TypeVar("Item")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> Mapping[Key, list[Item]]:
    """The items by key, in order."""
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


@dataclass(frozen=True, slots=True)
class Opinions:
    """Labels by what they are of: annotations by finding id (`missed`: by span id), scores and reviews by run id.

    `of_error`: those that cover an error, by its id.
    """

    of_finding: Mapping[str, Sequence[Annotation]] = field(default_factory=dict)
    missed: Mapping[str, Sequence[Annotation]] = field(default_factory=dict)
    scores: Mapping[str, Sequence[HumanScore]] = field(default_factory=dict)
    reviews: Mapping[str, Sequence[Review]] = field(default_factory=dict)
    of_error: Mapping[str, Sequence[Annotation]] = field(default_factory=dict)

    @classmethod
    def of(cls, labelled: Mapping[str, Labelled], errors: Iterable[ErrorSummary] = ()) -> Opinions:
        """From all labels of some traces, and the errors of these."""
        said = [one for labels in labelled.values() for one in labels.annotations]
        return cls(
            grouped((one for one in said if one.finding_id), lambda one: one.finding_id),
            grouped((one for one in said if not one.finding_id), lambda one: one.span_id),
            grouped((one for labels in labelled.values() for one in labels.human_scores), lambda one: one.agent_run_id),
            grouped((one for labels in labelled.values() for one in labels.reviews), lambda one: one.agent_run_id),
            labels_on(errors, said),
        )

    def is_contested(self, error_id: str) -> bool:
        """Whether people contradict each other on an error."""
        return label_of(self.of_error.get(error_id, ())) is ErrorLabel.CONTESTED


@dataclass(frozen=True, slots=True)
class TracePageView:
    """View of a trace's page. `selected`: key of the place shown; `lazy`: its details are read after the page.

    `opened`: the error that the page opens on, as no place was asked for. `why`: no judge has spoken of the trace;
    `unscored`: outcomes, with reasons, that left the selected run unscored. `unseen`: stored spans that the
    outline does not have. `unproven`: detectors that lead errors here and that nobody has labelled on the service.
    `withdrawn`: why the error whose link led here holds no more; None where it holds, or no link of an error did.
    `not_judged`: why no judge looked, None where one did. `measures`: of a trace that is a session of its own.
    `given`: scores that others gave.
    """

    outline: TraceOutline
    assessment: TraceAssessment
    ask: Ask
    trace_index: TraceIndex
    selected: str
    errors: Sequence[ShownError]
    opened: ShownError | None
    tree: Branch
    opinions: Opinions
    verdicts: Mapping[str, Sequence[Verdict]]
    detail: Detail | None = None
    lazy: bool = False
    why: str | None = None
    unscored: Sequence[tuple[str, str]] = ()
    mark: str = ""
    unseen: int = 0
    unproven: Sequence[str] = ()
    withdrawn: Sequence[str] | None = None
    not_judged: NotJudged | None = None
    measures: Sequence[ShownMeasure] = ()
    given: ScoresOf = NONE_GIVEN

    @property
    def status(self) -> TraceStatus:
        """How the trace stands."""
        return status_of(self.outline.state, self.not_judged is not None)

    @property
    def base(self) -> str:
        """The path of the trace."""
        return f"/traces/{quote(self.outline.trace_id, safe='')}"

    @property
    def counts(self) -> Mapping[Severity, int]:
        """Errors by severity, the worst first."""
        found = dict.fromkeys(reversed(Severity), 0)
        for shown in self.errors:
            found[shown.severity] += 1
        return {severity: count for severity, count in found.items() if count}

    @property
    def worst_first(self) -> Sequence[ShownError]:
        """The errors, the most severe first, of equally severe ones the surest, then in reading order."""
        return sorted(self.errors, key=lambda shown: (-shown.severity.rank, -shown.error.confidence()))

    @property
    def decisive(self) -> ShownError | None:
        """The error that decided the outcome of the trace."""
        return next((shown for shown in self.errors if shown.error.decided), None)

    @property
    def grades(self) -> Mapping[str, float]:
        """By part of the GPA, and overall, the mean grade of the runs."""
        return mean_grades(self.assessment.verdicts)

    @property
    def other_verdicts(self) -> Sequence[Verdict]:
        """Verdicts on the trace or its session, not on a run."""
        runs = {run.id for run in self.outline.runs}
        return [v for subject, verdicts in self.verdicts.items() if subject not in runs for v in verdicts]

    @property
    def exchanges(self) -> Sequence[RunOutline]:
        """The runs that answered a user, with their questions and answers."""
        return [run for run in self.outline.runs if not run.parent_id and (run.goal or run.answer)]

    @property
    def graph(self) -> CallGraph | None:
        """The graph of its agents and tools; None where an agent neither called nor could call anything."""
        edges = self.outline.edges
        return CallGraph(edges) if any(edge.kind is not CalleeKind.ENTRY for edge in edges) else None

    @property
    def drawn(self) -> GraphPicture:
        """The picture of it."""
        return picture_of(CallGraph(self.outline.edges))

    @property
    def selected_query(self) -> str:
        """Parameters that select the same again."""
        return query_of(self.trace_index, self.selected)

    def place_of(self, shown: ShownError) -> str:
        """The agent and turn of an error, in words."""
        lead = shown.error.lead
        run = self.trace_index.items.get(f"run:{lead.agent_run_id}")
        return error_place(lead.agent_run_id if run else None, getattr(run, "name", ""), lead.turn)


def query_of(trace_index: TraceIndex, key: str) -> str:
    """Parameters that select a key: its span where it has one."""
    item = trace_index.items.get(key)
    span_id = getattr(item, "span_id", "")
    return urlencode({"span": span_id} if span_id else {"at": key})


def select(ask: Ask, trace_index: TraceIndex) -> str:
    """The key of the asked place; "" where none was asked for.

    Raises:
        NotFoundError: the asked span is not of this trace.
    """
    if ask.span:
        key = trace_index.key_of_span(ask.span)
        if key is None:
            raise NotFoundError(f"this trace has no span {ask.span[:64]!r}")
        return key
    return ask.at if ask.at in trace_index.items else ""


def _first(trace_index: TraceIndex) -> str:
    """The key of the first run, else of the first span."""
    first = trace_index.below("")
    return next((key for key in first if key != REST), next(iter(trace_index.below(REST)), ""))


def view_of(
    trace_queries: StoredTraceQueries, labelled: Mapping[str, Labelled], trace_index: TraceIndex, ask: Ask
) -> TracePageView:
    """The page of an outline without its details. Blocks.

    Raises:
        ConfigError: no such profile.
        NotFoundError: the asked span is not of this trace.
        RetryableError, StoreError: the store failed.
    """
    outline = trace_index.outline
    assessment = trace_queries.assessment(outline, Confidence.of(ask.profile))
    errors = in_reading_order(assessment.errors, trace_index, assessment.least)
    asked = select(ask, trace_index)
    opened = None if asked else worst(errors, trace_index)
    selected = asked or (opened and trace_index.key_of_span(opened.error.lead.span_id)) or _first(trace_index)
    choice = TreeOptions(selected, errors, bool(ask.only), frozenset(ask.opened))
    return TracePageView(
        outline=outline,
        assessment=assessment,
        ask=ask,
        trace_index=trace_index,
        selected=selected,
        errors=errors,
        opened=opened,
        tree=TreeView(trace_index, choice).top(),
        opinions=Opinions.of(labelled, map(summary, assessment.errors)),
        verdicts=grouped(assessment.verdicts, lambda verdict: verdict.subject.run_id or verdict.subject.id),
    )


def detail_of(trace_queries: StoredTraceQueries, view: TracePageView) -> Detail | None:
    """The details of what is selected; None where it is no more, or not yet, part of the trace. Blocks."""
    trace = trace_queries.part(view.trace_index, view.selected)
    if trace is None:
        return None
    return Details(trace, view.trace_index, view.errors).at(view.selected)
