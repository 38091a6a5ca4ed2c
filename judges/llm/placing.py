"""Where a quote stands: at a step that was named, else at exactly one other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.judges.evidence import OwnText
from tracejury.judges.quoting import quote as cut
from tracejury.schemas.findings import Finding, FindingState, finding_id, fingerprint
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import Step

from .verbatim import standing

MOST_SEARCHES: Final = 400
"""Misplaced quotes of one case that are looked for in its other steps; later ones are dropped."""

_CALL: Final = re.compile(r"calls (\S+)(?: \(no[^()\n]*\))?(.*)", re.DOTALL)
"""A transcript's line for a call, with what it says of its execution, and the arguments below it."""


@dataclass(frozen=True, slots=True)
class ClaimLocation:
    """Where a claim stands: step, trace, span, run ("" outside all) and turn, and the evidence as the span has it."""

    label: str
    trace: Trace
    span_id: str
    run_id: str
    turn: int | None
    evidence: str


def provisional_finding(stand: ClaimLocation, judge: str, taxonomy: str, category: str, **others: Any) -> Finding:
    """What `judge` found at the place of a claim; `others`: the fields that the place does not tell."""
    trace, home = stand.trace, stand.trace.home(stand.span_id)
    return Finding(
        id=finding_id(trace.tenant, home, stand.span_id, judge, category, stand.evidence),
        fingerprint=fingerprint(trace.tenant, home, stand.span_id, taxonomy, category),
        tenant=trace.tenant,
        trace_id=home,
        span_id=stand.span_id,
        agent_run_id=stand.run_id,
        turn=stand.turn,
        judge=judge,
        taxonomy=taxonomy,
        category=category,
        evidence=stand.evidence,
        state=FindingState.PROVISIONAL,
        **others,
    )


class QuotePlacer:
    """Finds quotes at the steps of one record. `traces`: those of its steps, by `Step.trace_id`."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._traces = traces
        # Indexed over a whole trace, so only where something is claimed: most cases of a trace of many runs have
        # nothing.
        self._indices: dict[tuple[str, bool], OwnText] = {}
        self._searches = 0

    def known(self, step: Step) -> bool:
        """Whether the step's span is there."""
        trace = self._traces.get(step.trace_id)
        return trace is not None and step.span_id in trace.spans

    def place(self, quote: str, named: Sequence[Step], wanted: Sequence[Step]) -> ClaimLocation | None:
        """The first of the steps `named` at which the quote stands, else the only other one of those `wanted`.

        All of them are `known`.
        """
        for step in named:
            if found := self.at(step, quote):
                return found
        others = self._search(quote, [step for step in wanted if step not in named])
        if len(others) != 1:
            return None
        ((step, evidence),) = others
        return self._location(step, evidence)

    def at(self, step: Step, quote: str) -> ClaimLocation | None:
        """Where the quote stands at that step; None where it does not, or where the step's span is gone."""
        evidence = self.evidence(step, quote) if quote and self.known(step) else ""
        return self._location(step, evidence) if evidence else None

    def told(self, step: Step) -> ClaimLocation:
        """The step (`known`) as the place of what it shows of other spans, with words of its own as evidence."""
        return self._location(step, self._words(step))

    def evidence(self, step: Step, quote: str) -> str:
        """The quote as it stands at the span; of an absence, or of a tool's line, the name of a tool it was given.

        Of our line for a call that the span made ("calls NAME"), the arguments quoted with it, else the tool's name.

        For a quote from what is told at the step and was recorded elsewhere (`OwnText`), words of the span itself.
        """
        span = self._traces[step.trace_id].spans[step.span_id]
        if found := standing(self.own(step.trace_id), step.span_id, quote):
            return found
        if found := self._called(step, span, quote):
            return found
        name = quote.strip().partition("(")[0]
        if any(tool.name == name for tool in span.tools):
            return name
        found = standing(self.own(step.trace_id, told=True), step.span_id, quote)
        sent = found and any(found in value for value in span.raw.attributes.values())
        return found if sent else found and self._words(step)

    def _called(self, step: Step, span: NormalizedSpan, quote: str) -> str:
        line = _CALL.fullmatch(quote.strip())
        if line is None or all(request.name != line[1] for request in span.tool_requests):
            return ""
        arguments = line[2].strip()
        return standing(self.own(step.trace_id), step.span_id, arguments) if arguments else line[1]

    def own(self, trace_id: str, *, told: bool = False) -> OwnText:
        """The texts of one trace's spans."""
        key = (trace_id, told)
        if key not in self._indices:
            self._indices[key] = OwnText(self._traces[trace_id], told=told)
        return self._indices[key]

    def _search(self, quote: str, steps: Sequence[Step]) -> list[tuple[Step, str]]:
        """The spans at which the quote stands, by the first step of each; at most two."""
        self._searches += 1
        if self._searches > MOST_SEARCHES:
            return []
        found: list[tuple[Step, str]] = []
        for step in {(s.trace_id, s.span_id): s for s in reversed(steps)}.values():
            if len(found) < 2 and (evidence := standing(self.own(step.trace_id), step.span_id, quote)):  # noqa: PLR2004 - two are ambiguous
                found.append((step, evidence))
        return found

    def _words(self, step: Step) -> str:
        """The span's output or result, as far as it was sent so, else its name."""
        span = self._traces[step.trace_id].spans[step.span_id]
        own = self.own(step.trace_id)
        said = (cut(text) for text in (span.output, span.tool_result, span.tool_name) if text)
        return next((text for text in said if text and own.as_sent(step.span_id, text)), span.raw.name)

    def _location(self, step: Step, evidence: str) -> ClaimLocation:
        place = self.own(step.trace_id).place(step.span_id)
        run_id, turn = (place[0].id, place[1].index) if place else ("", step.turn)
        return ClaimLocation(step.label, self._traces[step.trace_id], step.span_id, run_id, turn, evidence)
