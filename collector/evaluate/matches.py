"""Which findings describe which annotated errors: told by a person's file, or by an LLM (adjudicate.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..sources import BrokenFileError
from .folder import read_json

Pair = tuple[int, str]
"""Number of an annotated error, from 0 in the order of its file, and the id of a finding."""

Matches = Mapping[str, frozenset[Pair]]
"""By trace name; a trace that is not named was not looked at."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How two raters judged the same pairs: both matched them, the first only, the second only, neither."""

    both: int = 0
    first: int = 0
    second: int = 0
    neither: int = 0


def load_matches(path: Path) -> Matches:
    """A file `{trace name: [[number of the error, finding id], ...]}`, such as a report's `matches`.

    Raises:
        BrokenFileError: it is not.
    """
    document = read_json(path)
    if isinstance(document, dict) and isinstance(document.get("matches"), dict):
        document = document["matches"]
    if not isinstance(document, dict) or not all(isinstance(pairs, list) for pairs in document.values()):
        raise BrokenFileError(f"{path} holds no matches: expected {{trace: [[error number, finding id], ...]}}")
    return {name: frozenset(_pair(path, pair) for pair in pairs) for name, pairs in document.items()}


def _pair(path: Path, pair: object) -> Pair:
    match pair:
        case [bool(), _]:
            pass
        case [int() as error, str() as finding] if error >= 0:
            return error, finding
    raise BrokenFileError(f"{path}: a match is [error number, finding id], not {str(pair)[:60]!r}")


def compare(first: Matches, second: Matches, errors: Mapping[str, int], findings: Mapping[str, set[str]]) -> PairCounts:
    """How two raters judged all pairs of the traces that both looked at.

    `errors`: number of annotated errors by trace, `findings`: finding ids by trace. Pairs that name anything else (a
    finding of another version) are left out.
    """
    both = only_first = only_second = total = 0
    for name in first.keys() & second.keys() & errors.keys():
        ids = findings.get(name, set())
        total += errors[name] * len(ids)
        one, two = ({p for p in m[name] if p[0] < errors[name] and p[1] in ids} for m in (first, second))
        both += len(one & two)
        only_first += len(one - two)
        only_second += len(two - one)
    return PairCounts(both, only_first, only_second, total - both - only_first - only_second)
