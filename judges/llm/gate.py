"""The evidence gate for claims of LLM judges: a claim whose quote stands nowhere is no finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Final

from ...schemas.findings import Finding
from ...schemas.trajectory import AgentRun, Trace
from ...schemas.transcript import Step, Transcript
from ..evidence import OwnText
from ..quoting import quote as cut
from .answer_types import Claim
from .identity import ClaimLocation, finding, one_a_decision, owner, taxonomy
from .members import LlmJudges
from .stop_sequences import missed_stop
from .verbatim import standing

MOST_SEARCHES: Final = 400
"""Misplaced quotes of one case that are looked for in its other steps; later ones are dropped."""


_NOWHERE: Final = frozenset({"no-evidence", "unknown-label"})


class Gate:
    """Lets claims about one run through, or drops and counts them by why.

    `dropped`: "no-evidence" (the quote stands neither at its step nor in exactly one other), "unknown-label" (likewise,
    and there is no such step), "unsound" (no asked judge's matter), "outside-window", "stop-sequence" (a tag that is
    said to be missing ends the call, so providers cut it off). `unquoted`: those whose quote stands nowhere, by judge.
    """

    def __init__(self, trace: Trace, run: AgentRun, panel: LlmJudges) -> None:
        self.dropped: Counter[str] = Counter()
        self.unquoted: Counter[str] = Counter()
        self._trace, self._run, self._panel = trace, run, panel
        self._searches = 0

    # Indexed over the whole trace, so only where something is claimed: most cases of a trace of many runs have nothing.
    @cached_property
    def _own(self) -> OwnText:
        return OwnText(self._trace)

    @cached_property
    def _told(self) -> OwnText:
        return OwnText(self._trace, told=True)

    def findings(
        self, claims: Sequence[Claim], asked: Collection[str], transcript: Transcript, first: str = ""
    ) -> list[Finding]:
        """Provisional findings of the judges `asked`, one a decision.

        `transcript`: what they were shown; `first`: the label from which on findings were wanted.
        """
        steps = {step.label: step for step in transcript.steps if step.span_id in self._trace.spans}
        wanted = [step for step in _from(transcript.steps, first) if step.label in steps]
        judges = [judge for judge in self._panel.judges if judge.name in asked]
        found: list[Finding] = []
        for claim in claims:
            judge = owner(claim, judges)
            if judge is None or not taxonomy(claim, judge):
                self.dropped["unsound"] += 1
                continue
            placed = self._place(claim, steps, wanted)
            if isinstance(placed, ClaimLocation):
                found.append(finding(self._trace, claim, placed, judge, self._panel, transcript))
            else:
                self.dropped[placed] += 1
                self.unquoted[judge.name] += placed in _NOWHERE
        return one_a_decision(found)

    def _place(self, claim: Claim, steps: dict[str, Step], wanted: Sequence[Step]) -> ClaimLocation | str:
        """Where the claim stands, or why nowhere."""
        named = [steps[label] for label in claim.labels if label in steps]
        inside = [step for step in named if step in wanted]
        for step in inside:
            if evidence := self._evidence(step.span_id, claim.quote):
                return self._stand(step, evidence) if not self._stopped(step.span_id, claim.why) else "stop-sequence"
        others = self._search(claim.quote, [step for step in wanted if step not in inside])
        if len(others) == 1:
            ((step, evidence),) = others
            return self._stand(step, evidence) if not self._stopped(step.span_id, claim.why) else "stop-sequence"
        if not named:
            return "unknown-label"
        return "no-evidence" if inside else "outside-window"

    def _search(self, quote: str, steps: Sequence[Step]) -> list[tuple[Step, str]]:
        """The spans at which the quote stands, by the first step of each; at most two."""
        self._searches += 1
        if self._searches > MOST_SEARCHES:
            return []
        found: list[tuple[Step, str]] = []
        for step in {s.span_id: s for s in reversed(steps)}.values():
            if len(found) < 2 and (evidence := standing(self._own, step.span_id, quote)):  # noqa: PLR2004 - two are ambiguous
                found.append((step, evidence))
        return found

    def _evidence(self, span_id: str, quote: str) -> str:
        """The quote as it stands at the span; of an absence, or of a tool's line, the name of a tool it was given.

        For a quote from what is told at the step and was recorded elsewhere (`OwnText`), words of the span itself.
        """
        if found := standing(self._own, span_id, quote):
            return found
        name = quote.strip().partition("(")[0]
        if any(tool.name == name for tool in self._trace.spans[span_id].tools):
            return name
        found = standing(self._told, span_id, quote)
        sent = found and any(found in value for value in self._trace.spans[span_id].raw.attributes.values())
        return found if sent else found and self._words(span_id)

    def _words(self, span_id: str) -> str:
        """The span's output or result, as far as it was sent so, else its name."""
        span = self._trace.spans[span_id]
        said = (cut(text) for text in (span.output, span.tool_result, span.tool_name) if text)
        return next((text for text in said if text and self._own.as_sent(span_id, text)), span.raw.name)

    def _stand(self, step: Step, evidence: str) -> ClaimLocation:
        place = self._own.place(step.span_id)
        if place is None:
            return ClaimLocation(step.span_id, self._run.id, step.turn, evidence)
        return ClaimLocation(step.span_id, place[0].id, place[1].index, evidence)

    def _stopped(self, span_id: str, why: str) -> bool:
        place = self._own.place(span_id)
        call = place[1].llm if place else self._trace.spans[span_id]
        return call is not None and missed_stop(call.stop_sequences, why)


def _from(steps: tuple[Step, ...], first: str) -> tuple[Step, ...]:
    at = next((i for i, step in enumerate(steps) if step.label == first), 0)
    return steps[at:]
