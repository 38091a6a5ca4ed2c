"""Whether two texts say the same in other words. No model is asked, and no list of words of a language."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 20_000
"""Characters of a text that are read for its words; longer ones are the same only as they stand."""

_FREE: Final = 8
"""Words of a text that may be worded otherwise; in shorter ones each word tells."""
_TELLING: Final = 4
"""Letters of a word that tells of what the text is about."""
_TOKEN: Final = re.compile(r"(?:(?<![\w.)\]])[-−])?\d+(?:[.,:]\d+)*|[^\W\d]+")  # noqa: RUF001 - a minus
_WRITTEN: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))|(?<=\d)\.0+(?![\d.])")
"""Of a figure, what does not change it."""
_OPERATOR: Final = re.compile(r"[<>=!]=|<>|[<>]")


def same_argument(one: str, other: str) -> bool:
    """Whether two arguments say the same in other words; of queries and code the comparisons are the same, too."""
    return same_wording(one, other) and _OPERATOR.findall(one) == _OPERATOR.findall(other)


def same_wording(one: str, other: str) -> bool:
    """Whether two texts are the same but for their wording.

    Short ones have the same words. Longer ones name the same figures, or one of them fewer of these, and share all but
    a few of their longer words: of n, (n - 3) / 2 may be missing.
    """
    if one == other:
        return True
    if max(len(one), len(other)) > LONGEST:
        return False
    a, b = (_TOKEN.findall(_WRITTEN.sub("", text.casefold())) for text in (one, other))
    if min(len(a), len(b)) < _FREE:
        return bool(a) and sorted(a) == sorted(b)
    (figures, words), (other_figures, other_words) = _parts(a), _parts(b)
    if bool(figures) != bool(other_figures) or not (figures <= other_figures or other_figures <= figures):
        return False
    missing = min(len(words - other_words), len(other_words - words))
    return missing <= max(0, (min(len(words), len(other_words)) - 3) // 2)


def _parts(tokens: list[str]) -> tuple[set[str], set[str]]:
    figures = {token for token in tokens if token[-1].isdigit()}
    return figures, {token for token in tokens if len(token) >= _TELLING} - figures
