"""Findings of detectors, as judges read them: one line a step, and only of what they judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from ...schemas.findings import Finding
from ...schemas.profiles import PROFILES
from ...schemas.shown import shown
from ...schemas.transcript import Step

MOST_HINTS: Final = 60
"""Steps with hints that are shown."""

MOST_A_STEP: Final = 4
"""Reports told of one step, the surest first."""

_SHOWN: Final = min(PROFILES.values())
_LEAST_QUOTE, _MOST_QUOTE = 10, 120  # characters; a shorter line says too little to be found again


def told(hints: Iterable[Finding], codes: Collection[str], steps: Sequence[Step]) -> list[str]:
    """A line a step: the dimensions concerned, one quote, and what was reported there.

    `codes`: those of the judges asked; a hint of other dimensions is left out, as is one that no reading profile shows,
    or that is told with more certainty of a step it is linked with. `steps`: those that findings are wanted at, in
    order.
    """
    at: dict[str, list[Finding]] = {step.span_id: [] for step in steps}
    meant = [h for h in hints if h.span_id in at and h.confidence >= _SHOWN and _concerns(h, codes)]
    sure = {h.id: h.confidence for h in meant}
    for hint in meant:
        if all(sure.get(other, 0.0) <= hint.confidence for other in hint.linked):
            at[hint.span_id].append(hint)
    labels = {step.span_id: step.label for step in reversed(steps)}
    found = [_line(labels[span_id], reported, codes) for span_id, reported in at.items() if reported]
    return found[:MOST_HINTS]


def _concerns(hint: Finding, codes: Collection[str]) -> bool:
    return not hint.dimensions or bool(set(hint.dimensions) & set(codes))


def _line(label: str, reported: Sequence[Finding], codes: Collection[str]) -> str:
    surest = sorted(reported, key=lambda hint: -hint.confidence)[:MOST_A_STEP]
    named = dict.fromkeys(d for hint in surest for d in hint.dimensions if d in codes)
    about = f"{label} {', '.join(named)}" if named else label
    quotes = (quote for hint in surest if (quote := _quote(hint.evidence)))
    begin = next((f'{about}: "{quote}": ' for quote in quotes), f"{about}: ")
    return begin + " / ".join(dict.fromkeys(one_line(hint.explanation, 200) for hint in surest))


def _quote(evidence: str) -> str:
    """One line of it, short and without a mark where it is cut, so that it can be copied as it stands."""
    lines = (" ".join(line.split()) for line in shown(evidence[:2000]).split("\n"))
    line = next((line for line in lines if len(line) >= _LEAST_QUOTE), "")
    short = line[:_MOST_QUOTE]
    return short if short == line else short.rpartition(" ")[0] or short


def one_line(value: str, most: int) -> str:
    """Any text in one line of at most so many characters."""
    line = " ".join(shown(value[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"
