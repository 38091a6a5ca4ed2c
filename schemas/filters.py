"""The filters of lists, each declared once: for API parameters, command line options and SQL conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

from .annotations import Label, LabelOfSessions, Opinion, TraceLabel
from .errors import ConfigError
from .not_judged import NotJudged
from .score_filter import given_score, scores
from .taxonomy import Dimension, Severity
from .trace_status import TraceStatus
from .trajectory import OK, TraceState
from .verdicts import Outcome

MOST_PAIRS: Final = 8
"""KEY=VALUE that one question may ask for: each is looked for in the attributes of all spans."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: `name` of the parameter and, with dashes, of the option; `field` of the query, if that is another one.

    `help` of the option; `description` of the parameter. `choices`: the values that there are, besides `default` where
    that is "" and not None; the option takes any case of them where `any_case`, and `option_choices` instead of them
    (empty: any text). `is_id`: lower case, without white space. `repeated`: takes several KEY=VALUE, all of which must
    hold. `read`: the query's value of a text, by the filter's name. `condition`: on rows, with the query's field as its
    parameter; without one, that `column` has the value, if there is such a column.
    """

    name: str
    help: str = ""
    description: str = ""
    field: str = ""
    choices: type[StrEnum] | tuple[str, ...] = ()
    default: Any = ""
    any_case: bool = False
    metavar: str = ""
    option_choices: tuple[str, ...] | None = None
    is_id: bool = False
    repeated: bool = False
    read: Callable[[str, str], Any] | None = None
    condition: str = ""
    column: str = ""

    @property
    def target(self) -> str:
        """The field of the query."""
        return self.field or self.name


def an_id(text: str) -> str:
    """An id as it is stored: lower case, without the white space of a copied line."""
    return text.strip().lower()


def field_values(filters: Iterable[Filter], given: Any) -> dict[str, Any]:
    """The fields of a query by what was given as attributes; choices that were not made are None."""
    found = {}
    for one in filters:
        value = getattr(given, one.name)
        if one.repeated:
            value = pairs(one.name, value)
        elif one.read:
            value = one.read(one.name, value)
        elif one.is_id:
            value = an_id(value)
        elif isinstance(one.choices, type) and value == "":
            value = None
        found[one.target] = value
    return found


def pairs(name: str, given: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Each KEY=VALUE of a repeated filter; empty texts are left out.

    Raises:
        ConfigError: a text is no such pair, or there are more than `MOST_PAIRS`.
    """
    found = dict.fromkeys(text for text in given if text)
    for text in found:
        key, _, value = text.partition("=")
        if not (key and value):
            raise ConfigError(f"{name}: {text[:40]!r} is no KEY=VALUE")
    if len(found) > MOST_PAIRS:
        raise ConfigError(f"{name}: {len(found)} are given, and at most {MOST_PAIRS} can be asked for at once")
    return tuple((key, value) for key, _, value in (text.partition("=") for text in found))


def conditions(filters: Iterable[Filter], query: Any) -> tuple[list[str], dict[str, Any]]:
    """The conditions of those filters that a query asks for, and the values of their parameters."""
    texts: list[str] = []
    values: dict[str, Any] = {}
    for one in filters:
        if (one.condition or one.column) and (value := getattr(query, one.target)):
            texts.append(one.condition or f"{one.column} = {{{one.target}:String}}")
            values[one.target] = str(value) if isinstance(value, str) else value
    return texts, values


def named(filters: Iterable[Filter], *names: str) -> tuple[Filter, ...]:
    """Those of these names, in this order."""
    by_name = {one.name: one for one in filters}
    return tuple(by_name[name] for name in names)


_TENANT: Final = "tenant = {tenant:String}"
OF_SERVICE: Final = (
    f"TraceId IN (SELECT TraceId FROM traces FINAL WHERE {_TENANT} AND ServiceName = {{service:String}})"
)
# Without FINAL: a trace stays simulated, and the index spares reading all others.
SIMULATED_TRACES: Final = f"SELECT TraceId FROM traces WHERE {_TENANT} AND Simulated"
SIMULATED_SESSIONS: Final = f"SELECT ServiceName, SessionId FROM traces WHERE {_TENANT} AND Simulated"
_OF_AGENT: Final = f"""(TraceId, AgentRunId) IN (
    SELECT TraceId, run.1 FROM traces FINAL ARRAY JOIN arrayZip(Runs.Id, Runs.Name) AS run
    WHERE {_TENANT} AND run.2 = {{agent:String}})"""
# The condition on the project stands last: `narrowed` leaves such a look alone.
_SCORED: Final = f"""SELECT TraceId, SubjectId FROM verdicts FINAL
WHERE SubjectKind = 'agent-run' AND concat(Judge, ' ', toString(Score)) IN {{score:Array(String)}} AND {_TENANT}
GROUP BY TraceId, SubjectId
HAVING uniqExact(Judge) = arrayUniq(arrayMap(one -> splitByChar(' ', one)[1], {{score:Array(String)}}))"""
_IN_SCORED: Final = f"""(TraceId, AgentRunId) IN (
    SELECT arrayJoin(Parts), RunId FROM run_facts FINAL WHERE (TraceId, RunId) IN ({_SCORED}) AND {_TENANT})"""
_OF_CATEGORY: Final = "(Category = {category:String} OR concat(Taxonomy, '/', Category) = {category:String})"
_OF_PATTERN: Final = f"ErrorId IN (SELECT Id FROM errors WHERE Pattern = {{pattern:String}} AND {_TENANT})"
ROLES: Final = ("manager", "sub-agent")
SEVERITIES: Final = "LOW|MEDIUM|HIGH"

COMPARED: Final = """Name = {score:Array(String)}[1] AND multiIf(
    {score:Array(String)}[2] = '<=', Value <= toFloat64OrNull({score:Array(String)}[3]),
    {score:Array(String)}[2] = '>=', Value >= toFloat64OrNull({score:Array(String)}[3]),
    {score:Array(String)}[2] = '<', Value < toFloat64OrNull({score:Array(String)}[3]),
    {score:Array(String)}[2] = '>', Value > toFloat64OrNull({score:Array(String)}[3]),
    Label = {score:Array(String)}[3] OR Value = toFloat64OrNull({score:Array(String)}[3]))"""
"""The condition that a score of others is as `given_score` asks."""
_GIVEN: Final = f"""SELECT if(TraceId = '', SessionId, TraceId) FROM scores FINAL
WHERE {COMPARED.replace("{score:", "{other_score:")} AND (TraceId != '' OR SessionId != '') AND {_TENANT}"""

OF_TRACES: Final = (
    Filter("service", "Only of this service.", column="ServiceName"),
    Filter("version", "Only of this version of the service.", "The service's version", column="Version"),
    Filter("session", "Only of this session.", field="session_id", column="SessionId"),
    Filter(
        "tool",
        "Only with a call of this tool.",
        "The name of a tool that was called",
        condition="has(Calls.Tool, {tool:String})",
    ),
    Filter(
        "prompt",
        "Only with a call made from this prompt: its name, or name@version.",
        "A managed prompt that a call was made from: its name, or name@version",
        condition="arrayExists(p -> p = {prompt:String} OR startsWith(p, concat({prompt:String}, '@')), Prompts)",
    ),
    Filter(
        "other_score",
        "Only with such a score by others, of the trace, a span or the session: thumbs>=1, or correctness=wrong.",
        "With such a score by others, as `thumbs>=1` or `correctness=wrong`",
        read=given_score,
        metavar="NAME>=VALUE",
        condition=f"""(TraceId IN ({_GIVEN}) OR SessionId IN ({_GIVEN}) OR TraceId IN (
    SELECT JoinedTo FROM traces FINAL WHERE JoinedTo != '' AND TraceId IN ({_GIVEN}) AND {_TENANT}))""",
    ),
)
"""Filters of a trace; of a session, those of its traces."""
STATED: Final = (
    Filter(
        "attribute",
        "Only with a span that has this attribute, or this key in its metadata. Repeatable: all must hold.",
        f"KEY=VALUE: an attribute of a span or resource, or a key of its metadata; at most {MOST_PAIRS}, all must hold",
        field="attributes",
        default=(),
        repeated=True,
        metavar="KEY=VALUE",
    ),
    Filter("tag", "Only with a span that has this tag.", "A tag of a span"),
    Filter("user", "Only of this user.", "The user that a span names", metavar="ID"),
)
"""Filters of what spans of a trace state of themselves; `collector/store/lists/stated.py` has their conditions."""
SCORE: Final = Filter(
    "score",
    "Only with a run that a judge scored so: plan-adherence<=1, or PA<=1. Several, with commas, must all hold of it.",
    "With an agent run of such a score, as `plan-adherence<=1` or `PA<=1`; of several, with commas, all must hold",
    read=scores,
    metavar="JUDGE<=SCORE",
    condition=f"(TraceId, id) IN ({_SCORED})",
)
OF_RUNS: Final = (
    Filter("agent", "Only with a run of this agent.", "The name of an agent", column="name"),
    Filter("role", "Only with a run of this role.", choices=ROLES, metavar="manager|sub-agent", column="role"),
    Filter(
        "model",
        "Only with a run that this model answered.",
        "The model that answered most calls of an agent run",
        column="model",
    ),
    Filter(
        "inferred",
        "Only with a run that no agent, chain or conversation claims (yes), or with one that is claimed (no).",
        "With an inferred run (yes), or with another (no)",
        choices=("yes", "no"),
        metavar="yes|no",
        option_choices=("yes", "no"),
        condition="if(inferred, 'yes', 'no') = {inferred:String}",
    ),
    SCORE,
)
"""Filters of one agent run of a trace."""
OF_ERRORS: Final = (
    Filter(
        "category",
        "Only with an error of this category.",
        "With an error of this category: its name, or taxonomy/name",
        condition=_OF_CATEGORY,
    ),
    Filter("taxonomy", "Only with an error in this taxonomy.", "With an error in this taxonomy", column="Taxonomy"),
    Filter(
        "judge",
        "Only with an error that this detector or judge saw.",
        "With an error that this detector or judge saw",
        condition="has(Judges, {judge:String})",
    ),
    Filter(
        "dimension",
        "Only with an error in this dimension.",
        choices=Dimension,
        any_case=True,
        metavar="PQ|PA|GF|LC|EE|TS|TC",
        condition="has(Dimensions, {dimension:String})",
    ),
    Filter(
        "pattern",
        "Only with an error of this pattern.",
        "With an error of this pattern, by its id",
        metavar="ID",
        is_id=True,
        column="Pattern",
    ),
)
"""Filters of one error of a trace."""
STATE: Final = Filter(
    "state",
    "Only in this state; ok is settled.",
    "The state; ok means settled",
    choices=TraceState,
    metavar=f"open|{OK}|failed|incomplete",
    option_choices=(*TraceState, OK),
    column="State",
)
"""Of a trace or a session."""
STATUS: Final = Filter(
    "status",
    "Only that stands like this; partly-judged: sessions of which some traces were not judged.",
    "How it stands: of its state, and of whether judges looked at it",
    choices=TraceStatus,
    metavar="|".join(TraceStatus),
    option_choices=tuple(TraceStatus),
)
"""Of a trace or a session; lists have its conditions."""

JUDGED: Final = Filter(
    "judged",
    "Only what was judged (yes), or was not (no), or not for this reason.",
    "Judged (yes) or not (no), or not for this reason",
    choices=("yes", "no", *NotJudged),
    metavar="yes|no|REASON",
    option_choices=("yes", "no", *NotJudged),
    condition="multiIf({judged:String} = 'yes', NotJudged = '', {judged:String} = 'no', NotJudged != '', "
    "NotJudged = {judged:String})",
)
"""Of a trace, whether judges have looked at it."""

TRACE_FILTERS: Final = named(
    (
        *OF_TRACES,
        JUDGED,
        *OF_RUNS,
        *OF_ERRORS,
        STATUS,
        STATE,
        Filter(
            "severity",
            "Only with an error of this severity or above.",
            "With an error of this severity or above",
            choices=Severity,
            any_case=True,
            metavar=SEVERITIES,
        ),
        *STATED,
    ),
    "service", "version", "agent", "role", "model", "inferred", "score", "other_score", "tool", "prompt", "session",
    "status", "state",
    "judged", "severity", "category", "taxonomy", "judge", "dimension", "pattern", "attribute", "tag", "user",
)  # fmt: skip
"""Of lists of traces and sessions."""

ERROR_FILTERS: Final = (
    Filter("trace", "Only in this trace.", field="trace_id", metavar="ID", is_id=True, column="TraceId"),
    Filter("service", "Only of this service.", condition=OF_SERVICE),
    Filter("agent", "Only in runs of this agent.", "The name of the agent whose run it is", condition=_OF_AGENT),
    Filter("judge", "Only by this detector or judge.", "The name of the detector or judge", column="Judge"),
    Filter("category", 'Only of this category, e.g. "Formatting Errors".', condition=_OF_CATEGORY),
    Filter(
        "severity",
        "Only of this severity or above.",
        "The least severity",
        choices=Severity,
        default=Severity.LOW,
        any_case=True,
        metavar=SEVERITIES,
    ),
    replace(SCORE, help="Only in runs that a judge scored so: plan-adherence<=1, or PA<=1.", condition=_IN_SCORED),
    *STATED,
    replace(OF_ERRORS[4], help="Only of this pattern.", description="The id of the pattern", condition=_OF_PATTERN),
)
"""Of lists of findings."""
SPAN_FILTER: Final = Filter("span", "Only at this span.", field="span_id", metavar="ID", is_id=True, column="SpanId")

EXPORT_FILTERS: Final = tuple(
    replace(one, help=text, description=described, default=None if one.name == "severity" else "")
    for one, text, described in (
        (ERROR_FILTERS[0], "Only of this trace.", ""),
        (SPAN_FILTER, "Errors and findings: only at this span.", ""),
        (ERROR_FILTERS[1], "Only of this service.", ""),
        (ERROR_FILTERS[2], "Only of runs of this agent.", ERROR_FILTERS[2].description),
        (OF_TRACES[2], "Runs and traces: only of this session.", "Of runs and traces: of this session"),
        (ERROR_FILTERS[3], "Errors and findings: only by this detector or judge.", ""),
        (ERROR_FILTERS[4], "Errors and findings: only of this category.", ""),
        (ERROR_FILTERS[5], "Errors and findings: only of this severity or above.", ERROR_FILTERS[5].description),
    )
)
"""Of exports: errors and findings as in their lists, agent runs and traces by trace, service, agent and session."""

_JUDGED_OF_SERVICE: Final = f"({OF_SERVICE} OR TraceId = '' AND JSONExtractString(SubjectId, 1) = {{service:String}})"

LEDGER_FILTERS: Final = (
    replace(ERROR_FILTERS[0], help="Only of this trace; says why it has no score."),
    Filter(
        "judge",
        "Only of this judge (detectors: all detectors together).",
        "The name of the judge; detectors for all detectors together",
        column="Judge",
    ),
    Filter("outcome", "Only what ended like this.", choices=Outcome, default=None),
    Filter("service", "Only of this service.", condition=_JUDGED_OF_SERVICE),
)
"""Of the ledger of judges; `outcome` is asked of the last words only."""

LABEL_FILTERS: Final = (
    replace(ERROR_FILTERS[0], help="Only of this trace."),
    Filter("run", "Only of this agent run.", "The id of the agent run", field="agent_run_id", metavar="ID"),
    Filter("annotator"),
    Filter("service", "Only of this service.", condition=OF_SERVICE),
)
"""Of lists of labels of agent runs, and of what is in them."""
SESSION_LABEL_FILTERS: Final = (
    Filter("session", "Only of this session.", "The id of the session", field="session_id", metavar="ID"),
    LABEL_FILTERS[2],
    Filter("service", "Only of this service.", column="Service"),
)
"""Of lists of labels of sessions."""
ANNOTATION_FILTERS: Final = (
    Filter("id"),
    Filter("span", field="span_id", is_id=True),
    Filter("finding", description="The id of the finding that they are about", field="finding_id", is_id=True),
    Filter("judge"),
    Filter("category"),
    Filter("opinion", choices=Opinion, default=None),
)
"""Of lists of annotations, besides those of all labels."""


def label_filters(kind: type[Label]) -> tuple[Filter, ...]:
    """Of lists of labels of a kind."""
    names = {field.name for field in fields(kind)}
    shared: tuple[Filter, ...] = named(LABEL_FILTERS, "annotator")
    if issubclass(kind, TraceLabel | LabelOfSessions):
        shared = LABEL_FILTERS if issubclass(kind, TraceLabel) else SESSION_LABEL_FILTERS
    return (*shared, *(one for one in ANNOTATION_FILTERS if one.target in names))


SCORE_FILTERS: Final = (
    replace(ERROR_FILTERS[0], help="Only of this trace, and of spans in it."),
    SPAN_FILTER,
    replace(OF_TRACES[2], help="Only of this session itself, not of its traces.", metavar="ID"),
    Filter("name", "Only of this name.", column="Name"),
    Filter("source", "Only said by this source.", "Who says so", column="Source"),
    Filter(
        "score",
        "Only such a score: thumbs>=1, or correctness=wrong.",
        "As `thumbs>=1` or `correctness=wrong`",
        read=given_score,
        metavar="NAME>=VALUE",
        condition=COMPARED,
    ),
)
"""Of lists of scores that others give."""
