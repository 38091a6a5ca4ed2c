"""Wordings of abstention, as patterns over lower-cased text: admissions, attempts, offers, claims."""

from __future__ import annotations

import re
from typing import Final

from .wording import WORDINGS

_EDGE: Final = r"\b"
_PATTERNS: Final = WORDINGS["patterns"]


def _pattern(name: str) -> re.Pattern[str]:
    """One pattern. What begins at a word's edge shares one test for it, which makes the whole several times faster."""
    edged: list[str] = []
    loose: list[str] = []
    sought = f"(?:{'|'.join(_PATTERNS['sought'])})"
    for several in _PATTERNS[name]:
        first, *more = several.replace("<sought>", sought).split(f"|{_EDGE}")
        (edged if first.startswith(_EDGE) else loose).append(first.removeprefix(_EDGE))
        edged += more
    return re.compile("|".join([f"{_EDGE}(?:{'|'.join(edged)})", *loose]))


ADMITS: Final = _pattern("admits")
ACCESS_FAILED: Final = _pattern("access_failed")
ATTEMPT: Final = _pattern("attempt")
OFFERS: Final = _pattern("offers")
CLAIMS: Final = _pattern("claims")

STATES: Final = re.compile(
    r"^(?:(?:thus|so|hence|therefore|still|yet|but|and|however),? )?"
    r"(?:it\b|(?:they|he|she|its|the) (?:is|was|are|were)\b)"
)
"""A sentence that opens as a statement of fact."""

PIVOT: Final = re.compile(
    r",? ?\b(?:but|however|nevertheless|nonetheless|yet|still|instead|even so|that said|therefore|so|thus)\b,? ",
    re.IGNORECASE,
)
"""Words at which a sentence may turn from admitting to claiming."""
