"""The surroundings of findings in a record: their steps in full around the quotes, and the steps that they name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.transcript import Step, Transcript

from .excerpt import excerpt, places_of

AT_QUOTE: Final = 8_000
"""Characters of a step that are shown around a quote."""

NAMED: Final = 4_000
"""Characters of a step that a finding names, from its beginning."""

MOST_NAMED: Final = 6
"""Such steps of one finding."""

MOST_LISTED: Final = 40
"""Steps that are listed in one line each, the nearest to what is shown."""

_LABEL: Final = re.compile(r"(?<![A-Za-z0-9])(?:E\d{1,6}\.)?S\d{1,6}(?![A-Za-z0-9])")
_REFERENCE: Final = re.compile(r"= ((?:E\d{1,6}\.)?S\d{1,6})(?!\d)")


@dataclass(frozen=True, slots=True)
class ClaimSurroundings:
    """A finding with the step that it stands at, the offsets of its quote there, and the steps that it names."""

    finding: Finding
    step: Step
    places: tuple[int, ...]
    named: tuple[Step, ...]

    @property
    def size(self) -> int:
        """Characters that are shown of it at most."""
        return min(len(self.step.text), AT_QUOTE * len(self.places)) + sum(
            min(len(step.text), NAMED) for step in self.named
        )


def surroundings(finding: Finding, record: Transcript) -> ClaimSurroundings | None:
    """Those of a finding; None where no step of the record is of its span."""
    at_span = [step for step in record.steps if step.span_id == finding.span_id]
    placed = [(step, places_of(step.text, finding.evidence)) for step in at_span]
    if not placed:
        return None
    # A quote that stands nowhere has the place 0: of several steps of one span, another may have it.
    step, places = max(placed, key=lambda pair: pair[1] != (0,))
    return ClaimSurroundings(finding, step, places, tuple(_named(finding, step, places, record))[:MOST_NAMED])


def _named(finding: Finding, step: Step, places: Sequence[int], record: Transcript) -> Iterator[Step]:
    """The steps that the claim names, those of its further spans, and those that its own step refers to for text."""
    labels = _LABEL.findall(finding.explanation)
    spans = (finding.tool_span_id, finding.seen_by_span_id, *finding.also_at)
    refers = _REFERENCE.findall(excerpt(step.text, places, AT_QUOTE))
    by_label = {one.label: one for one in record.steps}
    by_span = {one.span_id: one for one in reversed(record.steps)}
    named = (*map(by_label.get, labels), *map(by_span.get, spans), *map(by_label.get, refers))
    yield from dict.fromkeys(one for one in named if one is not None and one is not step)


def shown_steps(record: Transcript, claims: Sequence[ClaimSurroundings]) -> str:
    """The steps around these findings in the record's order, each once; near ones that are left out in a line each."""
    quoted: dict[str, list[int]] = {}
    for claim in claims:
        quoted.setdefault(claim.step.label, []).extend(claim.places)
    named = {step.label for claim in claims for step in claim.named}
    listed = _nearest(record.steps, quoted.keys() | named)
    pieces: list[str] = []
    left_out = 0
    for step in record.steps:
        piece = _piece(step, quoted, named, listed)
        if not piece:
            left_out += 1
            continue
        pieces += [f"[… {left_out} steps …]\n"] if left_out else []
        pieces.append(piece if piece.endswith("\n") else f"{piece}\n")
        left_out = 0
    return "".join((*pieces, f"[… {left_out} steps …]\n" if left_out else ""))


def _piece(step: Step, quoted: Mapping[str, Sequence[int]], named: Collection[str], listed: Collection[str]) -> str:
    if step.label in quoted:
        return excerpt(step.text, quoted[step.label], AT_QUOTE)
    if step.label in named:
        return excerpt(step.text, [0], NAMED)
    return f"{step.outline} (not shown)\n" if step.label in listed else ""


def _nearest(steps: Sequence[Step], wanted: Collection[str]) -> frozenset[str]:
    """Labels of the steps nearest to those wanted, without these."""
    at = [number for number, step in enumerate(steps) if step.label in wanted]
    far = {
        step.label: min((abs(number - one) for one in at), default=0)
        for number, step in enumerate(steps)
        if step.label not in wanted
    }
    return frozenset(sorted(far, key=far.__getitem__)[:MOST_LISTED])
