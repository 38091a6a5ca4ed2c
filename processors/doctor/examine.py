"""Traces to a diagnosis. Pure: it depends on the traces alone, and every gap comes from a rule of the list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tracejury.schemas.trajectory import ToolCall, Trace

from . import agents, contents
from .diagnosis import AgentSummary, Contents, Diagnosis, Gap, ToolSummary
from .facts import DetectedGap, ExternalRun, Facts, arguments_known, gather, result_known, says_input, says_output
from .remedies import kinds, remedies

_RULES: Final[tuple[Callable[[Facts], Iterator[DetectedGap]], ...]] = (
    agents.no_convention,
    agents.nothing_done,
    agents.no_agents,
    agents.no_root,
    agents.unended,
    agents.unnamed_agents,
    agents.unlinked_agents,
    agents.linked_traces,
    contents.no_llm_calls,
    contents.no_content,
    contents.no_tool_spans,
    contents.no_tool_content,
    contents.no_tool_schemas,
    contents.dropped,
    contents.redacted_errors,
    contents.outside,
    contents.no_system_prompt,
    contents.no_session,
    contents.no_tokens,
    contents.twins,
)
_SHOWN_SPANS: Final = 3


def diagnose(traces: Sequence[Trace], elsewhere: Iterable[ExternalRun] = ()) -> Diagnosis:
    """Diagnose one or more traces of one program. `elsewhere`: agent runs in other traces."""
    facts = gather(traces, elsewhere)
    found = [_gap(f) for rule in _RULES for f in rule(facts)]
    by_scope = Counter((s.raw.scope_name, s.raw.scope_version) for s in facts.spans)
    return Diagnosis(
        services=tuple(sorted({s.raw.service for s in facts.spans})),
        trace_ids=tuple(t.trace_id for t in facts.traces),
        open=len(facts.traces) - len(facts.settled),
        spans=len(facts.spans),
        conventions=tuple(Counter(s.convention for s in facts.spans).most_common()),
        scopes=tuple((name, version, n) for (name, version), n in by_scope.most_common()),
        agents=tuple(_agents(facts)),
        tools=tuple(_tools(facts.tools)),
        contents=_contents(facts),
        gaps=tuple(sorted(found, key=lambda g: -g.severity.rank)),
    )


def without_tool_spans(traces: Sequence[Trace]) -> str:
    """The line on tools that ran and have no spans in these traces, as `doctor` prints it; "" where they have."""
    found = next(contents.no_tool_spans(gather(traces, ())), None)
    return f"{kinds()[found.kind].severity} {kinds()[found.kind].title}: {found.what}" if found else ""


def _gap(found: DetectedGap) -> Gap:
    kind = kinds()[found.kind]
    return Gap(
        kind=found.kind,
        severity=kind.severity,
        title=kind.title,
        what=found.what,
        lost=kind.lost,
        remedies=remedies(kind, found.spans),
        span_ids=tuple(s.span_id for s in found.spans[:_SHOWN_SPANS]),
    )


def _agents(facts: Facts) -> Iterator[AgentSummary]:
    seen: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    names = {run.id: run.name for run in facts.runs}  # a parent may stand in another trace
    for run in facts.runs:
        tally = seen[run.name, names.get(run.parent_id, "")]
        tally["runs"] += 1
        tally["llm"] += sum(1 for turn in run.turns if turn.llm)
        tally["tools"] += sum(len(turn.tool_calls) for turn in run.turns)
    for (name, parent), tally in seen.items():
        yield AgentSummary(name, parent, tally["runs"], tally["llm"], tally["tools"])


def _tools(calls: Iterable[ToolCall]) -> Iterator[ToolSummary]:
    by_name: defaultdict[str, list[ToolCall]] = defaultdict(list)
    for call in calls:
        by_name[call.name].append(call)
    for name, some in by_name.items():
        yield ToolSummary(
            name=name,
            calls=len(some),
            arguments=sum(map(arguments_known, some)),
            results=sum(map(result_known, some)),
            failed=sum(c.error is not None for c in some),
            spans=sum(c.span is not None for c in some),
        )


def _contents(facts: Facts) -> Contents:
    calls = facts.calls
    return Contents(
        calls=len(calls),
        inputs=sum(map(says_input, calls)),
        outputs=sum(map(says_output, calls)),
        tools=sum(1 for c in calls if c.tools),
        tokens=sum(1 for c in calls if c.input_tokens is not None or c.output_tokens is not None),
    )
