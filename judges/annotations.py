"""What human annotations say, read as TRAIL's scorer reads them, and which of them blame what is no error."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..schemas.taxonomy import TRAIL_CATEGORIES


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
    blames the recording. Rule: a clause of `text` names a stop sequence of tag form (`<end_plan>`), or its bare
    identifier, together with a word of absence, and the tag does stand nowhere in `output`.
    """
    clauses = [clause.casefold() for clause in _CLAUSE_END.split(text)]
    for stop in stop_sequences:
        tag = stop.strip().casefold()
        if not _TAG.fullmatch(tag) or tag in output.casefold():
            continue
        names = _names(tag)
        if any(_ABSENCE.search(clause) for clause in clauses if any(name in clause for name in names)):
            return stop.strip()
    return ""


_TAG = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")
_CLAUSE_END = re.compile(r"[.;]\s+(?=[A-Z\"'`(\[])|\|\|")
_ABSENCE = re.compile(
    r"\b(?:not|no|never|without|missing|misses|missed|lacks?|lacking|lacked|absent|absence|omit\w*|fail\w*|"
    r"instead|neither|nor|forg[eo]t\w*|neglect\w*|exclud\w*)\b|n't\b"
)


def _names(tag: str) -> tuple[str, ...]:
    # A bare identifier (end_plan) can mean nothing else; a bare word (stop) can mean anything.
    bare = tag.strip("<>[]/|")
    return (tag, bare) if not bare.isalpha() and bare else (tag,)


def _fold(name: str) -> str:
    return "".join(name.split()).casefold()
