"""Human annotations, read as TRAIL's scorer reads them, and those of them that are invalid."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracejury.schemas.taxonomy import TRAIL_CATEGORIES


def canonical_category(name: str) -> str:
    """The leaf of the taxonomy that an annotator meant; the name itself where it is like none.

    TRAIL's scorer: equal without case and blanks, else the first leaf that contains the name.
    """
    folded = _fold(name)
    if not folded:
        return ""
    exact = (leaf for leaf in TRAIL_CATEGORIES if _fold(leaf) == folded)
    containing = (leaf for leaf in TRAIL_CATEGORIES if folded in _fold(leaf))
    return next(exact, None) or next(containing, name)


def missing_stop_sequence(text: str, stop_sequences: Sequence[str], output: str) -> str:
    """The stop sequence of a call whose absence from the call's output the annotation blames, "" if none.

    A provider cuts the output in front of a stop sequence, so a model that obeys never shows it: the annotation
    blames the recording. Rule, for a stop sequence of tag form (`<end_plan>`) that stands nowhere in `output`: `text`
    names it (the tag, its bare identifier, or "the end tag"), and a clause says of it that it is absent.
    """
    lowered = text.casefold()
    blamed = [clause for clause in _CLAUSE_END.split(text) if _ABSENCE.search(clause.casefold())]
    for stop in stop_sequences:
        tag = stop.strip().casefold()
        if not _TAG.fullmatch(tag) or tag in output.casefold():
            continue
        names = _names(tag)
        named = any(name in lowered for name in names) or _END_TAG.search(lowered)
        if named and any(_is_about(clause.casefold(), names) for clause in blamed):
            return stop.strip()
    return ""


_TAG = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")
_END_TAG = re.compile(r"\b(?:end|ending|closing|stop|final)[ -](?:tag|marker|delimiter)\b")
_ANY_TAG = re.compile(r"\b(?:tag|marker|delimiter)\b")
_CLAUSE_END = re.compile(r"[.;]\s+(?=[A-Z\"'`(\[])|\|\|")
_ABSENCE = re.compile(
    r"\b(?:not|no|never|without|missing|misses|missed|lacks?|lacking|lacked|absent|absence|omi(?:t|ss)\w*|fail\w*|"
    r"instead|rather|neither|nor|forg[eo]t\w*|neglect\w*|exclud\w*|skip\w*|dropp?\w*|left out|leaves out|should)\b|"
    r"n['\u2019]t\b"
)


def _is_about(clause: str, names: tuple[str, ...]) -> bool:
    return any(name in clause for name in names) or bool(_ANY_TAG.search(clause))


def _names(tag: str) -> tuple[str, ...]:
    # A bare identifier (end_plan) can mean nothing else; a bare word (stop) can mean anything.
    bare = tag.strip("<>[]/|")
    return (tag, bare) if bare and not bare.isalpha() else (tag,)


def _fold(name: str) -> str:
    return "".join(name.split()).casefold()
