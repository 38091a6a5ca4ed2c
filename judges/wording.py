"""Wordings (English) by which an agent's own text tells what it is doing; generic, in lower case.

Each tuple is data of one rule; matching is plain substring search in a lower-cased text with straight apostrophes.
"""

from __future__ import annotations

from typing import Final

LOOK_UP: Final = (
    "search",
    "look up",
    "looking up",
    "lookup",
    "retriev",
    "locate ",
    "locating",
    "research",
    "visit ",
    "browse",
    "consult ",
    "download",
    "reliable source",
    "web page",
    "webpage",
    "website",
    "database",
    "fetch",
    "query the",
    "gather ",
    "obtain ",
    "collect ",
    "wikipedia",
    "documentation",
    "http",
)
"""A plan that says so needs data from outside."""

ASSUMPTION: Final = (
    "i will assume",
    "i'll assume",
    "we will assume",
    "we assume",
    "i assume",
    "assume that",
    "assumed to be",
    "assuming",
    "let's assume",
    "under the assumption",
    "my assumption",
    "based on typical",
    "typical values",
    "plausible",
    "hypothetical",
    "hypothesi",
    "presumably",
    "most likely",
    "approximat",
    "estimate",
    "guess",
)
SIMULATION: Final = (
    "simulat",
    "for this demonstration",
    "for demonstration",
    "imagine that",
    "pretend",
    "placeholder",
    "dummy",
    "mock ",
    "reasonable example",
    "fabricat",
    "made-up",
    "made up",
    "hard-coded",
    "hardcoded",
)
RECALL: Final = (
    "i know",
    "we know",
    "i recall",
    "we recall",
    "from memory",
    "my knowledge",
    "my understanding",
    "general knowledge",
    "background knowledge",
    "it is known",
    "it is well known",
    "well-known",
    "well known",
    "widely known",
    "well established",
    "well-established",
    "is documented",
    "commonly known",
    "according to",
    "from the literature",
    "in the literature",
    "historically",
)
VERIFICATION: Final = (
    "verified",
    "verification",
    "i have confirmed",
    "have confirmed",
    "confirmed",
    "confirms",
    "cross-check",
    "cross-referenc",
    "cross-report",
    "after investigation",
    "extensive investigation",
    "extensive research",
    "careful review",
    "carefully",
    "after reviewing",
    "after extensive",
    "careful search",
    "records show",
    "evidence",
)
FABRICATION: Final = (*SIMULATION, "i will assume", "i'll assume", "let's assume", "under the assumption")

INTENT: Final = (
    "i will ",
    "i'll ",
    "i need to ",
    "let me ",
    "let's ",
    "i am going to ",
    "i'm going to ",
    "i now need ",
    "next, i",
    "now i",
    "i should ",
    "i must ",
    "we need to ",
    "we will ",
    "request",
    "ask ",
)
"""An announcement of what comes next."""

SWITCH: Final = (
    "different approach",
    "another approach",
    "alternative approach",
    "alternative method",
    "another method",
    "different method",
    "instead",
    "try another",
    "try a different",
    "try using",
    "new approach",
    "switch to",
    "next approach",
    "take another",
    "will now try",
    "i'll now ask",
    "i will now ask",
    "so i will ask",
    "ask our",
    "workaround",
    "fall back",
    "fallback",
    "manual",
)
"""A turn that reads a failure and says so goes another way."""


def first_of(text: str, needles: tuple[str, ...]) -> int:
    """Offset of the first occurrence of any needle in `text` (lower case), -1 where there is none."""
    found = [at for needle in needles if (at := text.find(needle)) >= 0]
    return min(found, default=-1)
