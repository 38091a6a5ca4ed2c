"""Traces to a diagnosis. Pure: it depends on the traces alone, and every gap comes from a rule of the list.

Remedies for a gap are looked up in `gaps.yaml` by the instrumentation that wrote its spans.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import yaml

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import ToolCall, Trace

from . import agents, contents
from .diagnosis import AgentSummary, Contents, Diagnosis, Gap, Remedy, ToolSummary
from .facts import DetectedGap, ExternalRun, Facts, arguments_known, gather, result_known, says_input, says_output

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
    contents.cut_values,
    contents.redacted_errors,
    contents.outside,
    contents.no_system_prompt,
    contents.no_session,
    contents.no_tokens,
    contents.twins,
)
_SHOWN_SPANS: Final = 3


_MOST: Final = 3
_MOST_RANK: Final = 1_000_000


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A remedy for spans of a `service`, of a `scope` (its name, or its beginning) or of a `convention`.

    A service is a program that people install, under the name that it gives itself: its users set its options, not
    those of the libraries that it is made of. With none of the three it is for all that have no entry of their own.
    """

    remedy: Remedy
    scope: str = ""
    convention: str = ""
    service: str = ""

    def fits(self, scope: str, convention: str, service: str = "") -> int:
        """Rank of the match: a service before a scope (a longer one first) before a convention, -1 for none."""
        if self.service:
            return _MOST_RANK if service == self.service else -1
        if self.scope:
            return 2 + len(self.scope) if scope.startswith(self.scope) else -1
        if self.convention:
            return 1 if convention == self.convention else -1
        return 0


@dataclass(frozen=True, slots=True)
class GapKind:
    """The description of a kind of gap."""

    severity: Severity
    title: str
    lost: str
    entries: tuple[Entry, ...]


@lru_cache(maxsize=1)
def kinds() -> Mapping[str, GapKind]:
    """Every kind of gap, by its name."""
    data: Mapping[str, Any] = yaml.safe_load((files(__package__) / "gaps.yaml").read_text("utf-8"))
    return {name: _kind(fields) for name, fields in data.items()}


def remedies(kind: GapKind, spans: Sequence[NormalizedSpan]) -> tuple[Remedy, ...]:
    """Those that fit best what wrote the spans, the most frequent writer's first."""
    writers = Counter((s.raw.scope_name, s.convention, s.raw.service) for s in spans).most_common()
    best = [_best(kind.entries, *writer) for writer, _ in writers or [(("", "", ""), 0)]]
    specific = [e for e in best if e and (e.service or e.scope or e.convention)]
    chosen = specific or [e for e in best if e]
    return tuple(dict.fromkeys(e.remedy for e in chosen))[:_MOST]


def _best(entries: Sequence[Entry], scope: str, convention: str, service: str) -> Entry | None:
    fitting = [(e.fits(scope, convention, service), e) for e in entries]
    score, entry = max(fitting, key=lambda pair: pair[0], default=(-1, None))
    return entry if score >= 0 else None


def _kind(fields: Mapping[str, Any]) -> GapKind:
    entries = tuple(
        Entry(Remedy(_line(e["do"]), e.get("source", "")), *(e.get(k, "") for k in ("scope", "convention", "service")))
        for e in fields["remedies"]
    )
    return GapKind(Severity(fields["severity"]), fields["title"], fields["lost"], entries)


def _line(text: str) -> str:
    return " ".join(text.split())
