"""The tools: a question to the API each, with a small answer. None deletes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.client_requests import in_path
from tracejury.collector.api.params import Params
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.wire.base import WireModel
from tracejury.schemas.wire.errors import ErrorDetailJson
from tracejury.schemas.wire.labels import AnnotationJson
from tracejury.schemas.wire.traces import AgentRunJson, PartedTraceJson, TurnJson

from . import arguments as given
from .answers import (
    Compared,
    ErrorBriefs,
    ErrorCause,
    FoundTraces,
    ToldChange,
    ToldLabel,
    ToldPatterns,
    ToldRates,
    ToldRun,
    ToldTrace,
)
from .arguments import asked
from .quoted import LONG, SHORT
from .telling import (
    found_trace,
    told_difference,
    told_error,
    told_parting,
    told_pattern,
    told_rate,
    told_reason,
    told_run,
    told_trace,
)

PART_RUNS: Final = "20"
MOST_TURNS: Final = 1_000_000
"""Of a part of a trace."""
MOST_ALSO: Final = 10
ANNOTATOR: Final = "mcp"


@dataclass(frozen=True, slots=True)
class Caller:
    """The API with the key of whoever calls a tool; `name`: that of the key, "" where there is none."""

    client: ApiClient
    name: str = ""

    def page(self, path: str) -> str:
        """The address of a page."""
        return f"{self.client.url.rstrip('/')}{path}"


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool; `ask` blocks, and raises what the API client raises. `writes`: it changes labels."""

    name: str
    about: str
    arguments: type[Params]
    answer: type[WireModel]
    ask: Callable[[Caller, Any], WireModel]
    writes: bool = False

    def call(self, caller: Caller, arguments: Mapping[str, Any]) -> WireModel:
        """The answer. Raises ConfigError where the arguments do not fit, and as `ask`."""
        return self.ask(caller, given.arguments_of(self.arguments, arguments))


def _list_errors(caller: Caller, wanted: given.ListErrors) -> ErrorBriefs:
    found, following = caller.client.error_page(asked(wanted), wanted.limit, wanted.cursor)
    return ErrorBriefs(items=[told_error(error) for error in found], next=following or None)


def _why(caller: Caller, wanted: given.Why) -> ErrorCause:
    error, also = _named_error(caller.client, wanted)
    runs: Sequence[AgentRunJson] = ()
    with suppress(NotFoundError):  # its trace has expired: labels and errors of it may stay
        runs = caller.client.turns_around(error.trace_id, error.span_id)
    return told_reason(error, runs, also, caller.page(f"/errors/{in_path(error.id)}"))


def _named_error(client: ApiClient, wanted: given.Why) -> tuple[ErrorDetailJson, Sequence[str]]:
    """The error of that id, else the latest one of the span of that id with the ids of its others."""
    if not wanted.trace:
        with suppress(NotFoundError):
            return client.error(wanted.id), ()
    try:
        found, _ = client.errors({"span": wanted.id, "trace": wanted.trace}, 1 + MOST_ALSO)
    except NotFoundError:
        found = []
    if not found:
        raise NotFoundError(f"no error {wanted.id[:64]!r} is stored, and none at a span of that id")
    return client.error(found[0].id), [other.id for other in found[1:]]


def _trace(caller: Caller, wanted: given.ReadTrace) -> ToldTrace:
    if wanted.span:
        part = caller.client.part(wanted.trace, {"span": wanted.span})
        runs = [told_run(run, run.turns, wanted.span, LONG) for run in part.agent_runs]
        return told_trace(part, runs, None, _page_of(caller, part))
    turns, _, place = wanted.cursor.partition(":")
    first = given.skipped(turns, MOST_TURNS)
    part = caller.client.part(wanted.trace, {"limit": PART_RUNS, "cursor": place})
    shown, more = _some_turns(part, first, wanted.limit)
    if first and not shown:
        raise ConfigError("cursor: the trace has no such turns any more; begin again without a cursor")
    following = f"{first + wanted.limit}:{place}" if more else f":{part.part.next}" if part.part.next else None
    return told_trace(part, shown, following, _page_of(caller, part))


def _some_turns(part: PartedTraceJson, first: int, most: int) -> tuple[list[ToldRun], bool]:
    """The runs of a part with its turns from `first` on, at most so many, and whether there are more."""
    rows: list[tuple[AgentRunJson, TurnJson | None]] = [
        (run, turn) for run in part.agent_runs for turn in run.turns or (None,)
    ]
    shown = rows[first : first + most]
    runs = [
        told_run(run, [turn for _, turn in own if turn is not None], "", SHORT)
        for run, own in ((next(run for run in part.agent_runs if run.id == i), group) for i, group in
                         groupby(shown, key=lambda row: row[0].id))
    ]  # fmt: skip
    return runs, len(rows) > first + most


def _page_of(caller: Caller, part: PartedTraceJson) -> str:
    return caller.page(f"/traces/{in_path(part.trace_id)}")


def _search(caller: Caller, wanted: given.Search) -> FoundTraces:
    found, following = caller.client.trace_page(asked(wanted), wanted.limit, wanted.cursor)
    return FoundTraces(items=[found_trace(row) for row in found], next=following or None)


def _rates(caller: Caller, wanted: given.ReadRates) -> ToldRates:
    found = caller.client.rates({**asked(wanted), "limit": str(wanted.end)})
    return ToldRates(
        unit=found.unit,
        population=found.population,
        since=found.since,
        until=found.until,
        total=told_rate(found.total),
        items=[told_rate(row, row.key) for row in found.items[wanted.skipped :]] if wanted.by else [],
        unjudged=found.unjudged,
        next=_next(wanted, found.left) if wanted.by else None,
    )


def _patterns(caller: Caller, wanted: given.ReadPatterns) -> ToldPatterns:
    if wanted.pattern:
        one = caller.client.pattern(wanted.pattern, asked(wanted, "pattern", "service", "state"))
        return ToldPatterns(items=[told_pattern(one)], hidden=0, next=None)
    found = caller.client.patterns({**asked(wanted), "limit": str(wanted.end)})
    shown = [told_pattern(pattern) for pattern in found.items[wanted.skipped :]]
    return ToldPatterns(items=shown, hidden=found.hidden, next=_next(wanted, found.left))


def _next(wanted: given.Skipped, left: int) -> str | None:
    return str(wanted.end) if left and wanted.end < given.MOST_RANKED else None


def _compare(caller: Caller, wanted: given.Compare) -> Compared:
    if wanted.first:
        difference = told_difference(caller.client.compare_traces(wanted.first, wanted.second))
        return Compared(same=difference is None, traces=difference)
    filters = asked(wanted, "to_version")
    if not wanted.version:
        return Compared(runs=told_parting(caller.client.compare_runs(filters)))
    found = caller.client.compare_rates({"since": "7d"} | filters, f"version={wanted.to_version}")
    return Compared(
        rates=ToldChange(
            version=told_rate(found.rates.total, wanted.version),
            to_version=told_rate(found.to.total, wanted.to_version),
            difference=found.difference,
            p_value=found.p_value,
        )
    )


def _label(caller: Caller, wanted: given.SayLabel) -> ToldLabel:
    said = {
        "annotator": f"{ANNOTATOR}:{caller.name}" if caller.name else ANNOTATOR,
        "opinion": wanted.opinion.value,
        "finding_id": wanted.id,
        "trace_id": wanted.trace,
        "span_id": wanted.span,
        "category": wanted.category,
        "severity": wanted.severity,
        "evidence": wanted.evidence,
        "explanation": wanted.why,
    }
    (label,) = caller.client.add_labels("annotations", [said])
    return ToldLabel.model_validate(AnnotationJson.model_validate(label))


TOOLS: Final[Mapping[str, McpTool]] = {
    tool.name: tool
    for tool in (
        McpTool(
            "list_errors",
            "Errors of observed agents, latest first: what went wrong, at which span, with its evidence. "
            "Ask `why` about one.",
            given.ListErrors,
            ErrorBriefs,
            _list_errors,
        ),
        McpTool(
            "why",
            "One error, by its id or that of a span: evidence, explanation, what the agent should have done instead, "
            "the turns before and after, the id of its pattern.",
            given.Why,
            ErrorCause,
            _why,
        ),
        McpTool(
            "trace",
            "One trace in outline: agent runs, turns and tool calls with their span ids; with `span`, longer texts of "
            "that span's turn and those next to it.",
            given.ReadTrace,
            ToldTrace,
            _trace,
        ),
        McpTool(
            "search",
            "Traces, latest first, by text and filters, each with its worst error and whether it was judged.",
            given.Search,
            FoundTraces,
            _search,
        ),
        McpTool(
            "rates",
            "Error rates with 95 % intervals, by service, version, agent, category and more.",
            given.ReadRates,
            ToldRates,
            _rates,
        ),
        McpTool(
            "patterns",
            "What keeps going wrong: errors that are one thing to fix, the most harmful first, how often and since "
            "when.",
            given.ReadPatterns,
            ToldPatterns,
            _patterns,
        ),
        McpTool(
            "compare",
            "The first step at which two traces of one question differ; the step at which failing runs part from "
            "passing ones; or the rates of two versions.",
            given.Compare,
            Compared,
            _compare,
        ),
        McpTool(
            "label",
            "Say whether an error is right, or that one was missed; another opinion of yours on the same replaces it.",
            given.SayLabel,
            ToldLabel,
            _label,
            writes=True,
        ),
    )
}
"""By name."""
