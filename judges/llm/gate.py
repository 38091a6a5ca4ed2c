"""The evidence gate for claims of LLM judges: a claim whose quote stands nowhere is no finding.

Stop sequences end a call and are cut off by the provider: that one is missing from an output is nobody's error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.transcript import Step, Transcript

from .answer_types import Claim
from .identity import finding, one_a_decision, owner, taxonomy
from .members import LlmJudges
from .placing import ClaimLocation, QuotePlacer

_NOWHERE: Final = frozenset({"no-evidence", "unknown-label"})

_LEAST: Final = 3  # characters of a stop sequence that can be told from other text

_OPEN, _CLOSE = r"[`'\"(\\n]*", r"[`'\")]*"
_BEFORE: Final = (
    r"(?:\bmiss\w*|\bomit\w*|\black\w*|\bwithout|\babsen\w+|\bforg[oe]t\w*|\bunclosed|\bno"
    r"|(?:\bfail\w* to|\bnever|n[o']t) \w+)"
    r"(?: (?!before |after |until |and |but |in )[\w'`\"-]+){0,5} "
)
_NOUN: Final = r"(?: (?:closing|end(?:ing)?|stop|tags?|tokens?|markers?|sequences?|delimiters?)){0,3}"
_AFTER: Final = (
    r"(?: (?:is|was|are|were|has been|that is|that was|which is|which was))?"
    r" (?:miss|omit|absen|lack|left out|forgot"
    r"|(?:not|never) (?:present|includ|emit|writ|append|add|output|us|there|found))"
)
_SOME_CLOSING: Final = r"(?:closing|end(?:ing)?|terminat\w+|stop)[ -](?:tag|token|marker|sequence|delimiter)"
_TAG: Final = re.compile(r"<[^<>\s]{1,60}>")


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
        self._placer = QuotePlacer({"": trace})

    def findings(
        self,
        claims: Sequence[Claim],
        asked: Collection[str],
        transcript: Transcript,
        first: str = "",
        wanted_at: Collection[str] | None = None,
    ) -> list[Finding]:
        """Provisional findings of the judges `asked`, one a decision.

        `transcript`: what they were shown; `first`: the label from which on findings were wanted. `wanted_at`: the
        labels at which they were, None for all of these.
        """
        steps = {step.label: step for step in transcript.steps if self._placer.known(step)}
        wanted = [step for step in _from(transcript.steps, first) if step.label in steps]
        wanted = [step for step in wanted if wanted_at is None or step.label in wanted_at]
        judges = [judge for judge in self._panel.judges if judge.name in asked]
        found: list[Finding] = []
        for claim in claims:
            judge = owner(claim, judges)
            if judge is None or not taxonomy(claim, judge):
                self.dropped["unsound"] += 1
                continue
            placed = self._place(claim, steps, wanted)
            if isinstance(placed, ClaimLocation):
                placed = replace(placed, run_id=placed.run_id or self._run.id)
                found.append(finding(claim, placed, judge, self._panel, transcript))
            else:
                self.dropped[placed] += 1
                self.unquoted[judge.name] += placed in _NOWHERE
        return one_a_decision(found)

    def _place(self, claim: Claim, steps: dict[str, Step], wanted: Sequence[Step]) -> ClaimLocation | str:
        """Where the claim stands, or why nowhere."""
        named = [steps[label] for label in claim.labels if label in steps]
        inside = [step for step in named if step in wanted]
        if placed := self._placer.place(claim.quote, inside, wanted):
            return "stop-sequence" if self._stopped(placed.span_id, claim.why) else placed
        if not named:
            return "unknown-label"
        return "no-evidence" if inside else "outside-window"

    def _stopped(self, span_id: str, why: str) -> bool:
        place = self._placer.own("").place(span_id)
        call = place[1].llm if place else self._trace.spans[span_id]
        return call is not None and missed_stop(call.stop_sequences, why)


def _from(steps: tuple[Step, ...], first: str) -> tuple[Step, ...]:
    at = next((i for i, step in enumerate(steps) if step.label == first), 0)
    return steps[at:]


def missed_stop(stops: Sequence[str], why: str) -> bool:
    """Whether `why` says that one of the call's stop sequences is missing from its output.

    By its name; or as "the closing tag", where a stop sequence is a tag and `why` names no tag at all.
    """
    text = " ".join(why.lower().split())
    names = [name for stop in stops if len(name := " ".join(stop.lower().split())) >= _LEAST]
    if any(name in text and _said_missing(re.escape(name), text) for name in names):
        return True
    tags = any(_TAG.fullmatch(name) for name in names)
    return tags and not _TAG.search(text) and _said_missing(_SOME_CLOSING, text)


def _said_missing(what: str, text: str) -> bool:
    return bool(re.search(f"{_BEFORE}{_OPEN}{what}|{what}{_CLOSE}{_NOUN}{_AFTER}", text))
