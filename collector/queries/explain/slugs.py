"""Names as keys of terms."""

from __future__ import annotations

import re
from typing import Final

_NO_WORD: Final = re.compile(r"[^a-z0-9*]+")
"""A star stays: it tells a family of detectors, `model-*`, from a word."""
_GREEK: Final = str.maketrans({"\u03b1": "alpha", "\u03ba": "kappa"})


def slug(name: str) -> str:
    """A name as keys are written: `Formatting Errors` is `formatting-errors`."""
    return _NO_WORD.sub("-", name.lower().translate(_GREEK)).strip("-")
