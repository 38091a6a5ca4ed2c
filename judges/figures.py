"""Figures, identifiers and links in texts, and whether other texts support them.

A figure is supported if it stands there in whatever notation, rounded, in another unit (a power of ten), or if two
figures that stand there make it by a sum, a difference, a product or a quotient.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

# A pattern that begins with the characters that it seeks is sought much faster than one that first looks at what stands
# before them: hence the lookbehinds behind the first character.
_NUMBER: Final = re.compile(r"\d(?<![\w.,]\d)[\d,\u202f\u00a0']{0,20}(?:\.\d{1,10})?(?![\w])")
_LINK: Final = re.compile(r"https?://(?:[^\s<>\"'()\]]|\([^\s<>\"'()\]]{0,80}\)){4,300}")
_IDENTIFIER: Final = re.compile(r"[A-Z\d](?<![\w/.-][A-Z\d])[A-Z\d_-]{3,30}(?![\w-])")
"""Where it has both letters and digits."""
_LETTER, _DIGIT = re.compile(r"[A-Z]"), re.compile(r"\d")
_LEAST_DIGITS: Final = 3
"""Digits from which a number is a figure that somebody must have obtained; smaller ones count things in the text."""

MOST_FIGURES: Final = 2000
"""Figures of texts that are compared; where there are more, nothing is said of numbers."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A figure, identifier or link as a text has it, and where it begins."""

    text: str
    at: int


def details(text: str) -> list[Detail]:
    """The figures, identifiers and links of a text, in order."""
    links = [Detail(m.group().rstrip(".,;:"), m.start()) for m in _LINK.finditer(text)]
    plain = _LINK.sub(lambda m: " " * len(m.group()), text)
    names = [Detail(m.group(), m.start()) for m in _IDENTIFIER.finditer(plain) if _is_mixed(m.group())]
    figures = [Detail(m.group(), m.start()) for m in _NUMBER.finditer(plain) if _is_figure(m.group())]
    return sorted([*links, *names, *figures], key=lambda d: d.at)


def _is_mixed(name: str) -> bool:
    return _LETTER.search(name) is not None and _DIGIT.search(name) is not None


def _is_figure(number: str) -> bool:
    return sum(ch.isdigit() for ch in number.lstrip("0")) >= _LEAST_DIGITS


def _value_of(number: str) -> float:
    return float("".join(ch for ch in number if ch.isdigit() or ch == "."))


class Support:
    """Texts that details may stand in. Most details stand there as they are, so that nothing else is looked at."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(dict.fromkeys(texts))

    @cached_property
    def _low(self) -> Sequence[str]:
        return [t.lower() for t in self._texts]

    @cached_property
    def _values(self) -> frozenset[float] | None:
        """The figures of the texts, None where there are too many."""
        numbers = set().union(*map(_ANY.findall, self._texts))
        return frozenset(float(n.replace(",", "")) for n in numbers) if len(numbers) <= MOST_FIGURES else None

    def holds(self, detail: Detail) -> bool:
        """Whether the texts hold a detail, or figures that make it."""
        if any(detail.text in text for text in self._texts):
            return True
        if not _NUMBER.fullmatch(detail.text):
            low = detail.text.lower()
            return any(low in text for text in self._low)
        return self._values is None or _makes(_value_of(detail.text), _decimals(detail.text), self._values)


_ANY: Final = re.compile(r"\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,10})?")


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def _makes(value: float, decimals: int, known: frozenset[float]) -> bool:
    near = 0.5000001 * 10.0**-decimals
    if any(abs(k * scale - value) <= near for k in known for scale in (1.0, 100.0, 0.01, 0.001, 1000.0, 1e-6)):
        return True
    rounded = {round(k, decimals) for k in known}
    sums = any(round(value - k, decimals) in rounded or round(value + k, decimals) in rounded for k in known)
    return sums or any(abs(k * other - value) <= near for k in known if k and (other := _nearest(value / k, known)))


def _nearest(value: float, known: frozenset[float]) -> float:
    return value if round(value, 2) in known else 0.0
