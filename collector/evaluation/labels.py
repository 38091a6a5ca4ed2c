"""Scores that people gave, from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...judges.measures.dimension_labels import JUDGES
from ...judges.measures.scales import SCALE, ScaleRating
from ..otlp.files import BrokenFileError
from ..otlp.files.files import read_json
from .judges_result import WHOLE_TRACE


def load_labels(path: Path) -> tuple[ScaleRating, ...]:
    """A list of `{"trace", "judge", "score"}`; optionally with the `run` (an agent run's id) and the `rater`.

    `judge`: its name, or the code of its dimension. `score`: 0 to 3.

    Raises:
        BrokenFileError: it is not; names the row.
    """
    document = read_json(path)
    if not isinstance(document, list):
        raise BrokenFileError(f"{path} holds no labels: expected a list of objects with trace, judge and score")
    return tuple(_row(path, number, row) for number, row in enumerate(document, start=1))


def _row(path: Path, number: int, row: Any) -> ScaleRating:
    match row:
        case {"trace": str() as trace, "judge": str() as judge, "score": int() as score} if score in SCALE:
            name = JUDGES.get(judge, judge)
            return ScaleRating(trace, _text(row, "run", WHOLE_TRACE), name, int(score), _text(row, "rater", ""))
    raise BrokenFileError(f"{path}: label {number} is not of the form trace, judge, score from 0 to 3")


def _text(row: Mapping[str, Any], key: str, default: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else default
