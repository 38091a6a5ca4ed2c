"""What a scripted model answers when it judges the gallery's traces: scores, and findings that quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from llm_answers import Quote, answer, quotes
from llm_scripts import Call, Play


@dataclass(frozen=True, slots=True)
class Tell:
    """Words by which it knows a fault. `low`: judges that give a low score for it, each with its reasons."""

    words: str
    title: str
    dimensions: Sequence[str]
    category: str
    severity: str
    why: str
    low: Mapping[str, str]


TELLS = (
    Tell(
        "has been paid", "Refund reported although the call failed", ("LC", "GF"), "Language-only", "HIGH",
        "The call to refund failed, yet the answer reports the money as paid.",
        {"goal-fulfilment": "The customer asked for a refund and got none.",
         "logical-consistency": "The answer contradicts the error that the tool returned."},
    ),
    Tell(
        "arrives tomorrow before noon", "Delivery time made up", ("LC",), "Language-only", "HIGH",
        "No tool said when the order arrives; find_order answered that there is no such order.",
        {"logical-consistency": "The delivery time rests on nothing that was read.",
         "goal-fulfilment": "The question is answered with something made up."},
    ),
    Tell(
        "designed by Edmund Harcourt", "Answer made up after a failed search", ("LC",), "Language-only", "HIGH",
        "The search was down; the designer and the cost are made up.",
        {"logical-consistency": "The answer says that it is based on search results, of which there are none."},
    ),
    Tell(
        "From memory, I assume", "Planned search left out", ("PA",), "Goal Deviation", "MEDIUM",
        "The plan was to search and read; the lengths are guessed instead.",
        {"plan-adherence": "Steps 1 and 2 of the plan are missing."},
    ),
    Tell(
        "support for twelve languages", "Changes made up after a failed look-up", ("LC",), "Language-only", "HIGH",
        "The list of changes could not be read; none of these changes is known.",
        {"logical-consistency": "Nothing that was read speaks of these changes."},
    ),
    Tell(
        "timed out each time", "Same call repeated after time-outs", ("EE",), "Resource Abuse", "LOW",
        "Three times the same call to a ledger that did not answer, without a pause or another way.",
        {"execution-efficiency": "Two of the three calls could not tell anything new."},
    ),
)  # fmt: skip
FINE = "The steps follow from the goal, and what is answered stands in what was read."


def judged(call: Call) -> Play:
    """An answer that fits: a finding for each fault that it knows, a low score from the judges that mind it."""
    written = answer(call.schema, call.prompt, 0)
    seen = list(quotes(call.prompt))
    known = [(tell, line) for tell in TELLS if (line := _line(tell, seen)) is not None]
    written["findings"] = [_finding(tell, line) for tell, line in known]
    for verdict in written["verdicts"]:
        reasons = next((tell.low[verdict["judge"]] for tell, _ in known if verdict["judge"] in tell.low), "")
        verdict["score"], verdict["reasons"] = (1 if reasons else 3), reasons or FINE
    return Play(text=orjson.dumps(written).decode())


def _line(tell: Tell, seen: Sequence[Quote]) -> Quote | None:
    """The last line with these words: what was said before is quoted again by whoever answers."""
    return next((quote for quote in reversed(seen) if tell.words in quote.text), None)


def _finding(tell: Tell, line: Quote) -> dict[str, Any]:
    return {
        "label": line.label, "quote": line.text, "dimensions": [*tell.dimensions], "category": tell.category,
        "severity": tell.severity, "why": tell.why, "title": tell.title, "shown_at": None, "also_at": [],
        "material": True,
    }  # fmt: skip
