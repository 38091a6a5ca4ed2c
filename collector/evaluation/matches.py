"""Pairs of a finding and the annotated error it describes, from a person's file or an LLM (adjudicate.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracejury.collector.otlp.files import BrokenFileError
from tracejury.collector.otlp.files.files import read_json
from tracejury.judges.agreement import Annotated, Predicted
from tracejury.judges.measures.matching import Match

Pair = tuple[int, str]
"""Number of an annotated error, from 0 in the order of its file, and the id of a finding."""

Matches = Mapping[str, frozenset[Pair]]
"""By trace name; a trace that is not named was not looked at."""


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


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides of a matching: annotated errors, grouped by trace, and findings; both by name of the trace."""

    errors: Sequence[Annotated]
    findings: Sequence[Predicted]

    def decisions(self, matches: Matches) -> Iterator[Match]:
        """Every pair of the traces that were looked at, with the decision; by indices into the two sides.

        Pairs of `matches` that are not there (a finding of another version) are passed over.
        """
        ids: dict[str, list[tuple[int, str]]] = {}
        for place, finding in enumerate(self.findings):
            ids.setdefault(finding.trace_id, []).append((place, finding.id))
        numbers: dict[str, int] = {}
        for place, error in enumerate(self.errors):
            number = numbers.setdefault(error.trace_id, 0)
            numbers[error.trace_id] += 1
            if (pairs := matches.get(error.trace_id)) is not None:
                for other, finding_id in ids.get(error.trace_id, ()):
                    yield Match(place, other, (number, finding_id) in pairs)
