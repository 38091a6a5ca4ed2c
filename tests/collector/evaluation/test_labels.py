"""Scores by people, from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracejury.collector.evaluation.people import load_labels
from tracejury.collector.otlp.files import BrokenFileError
from tracejury.judges.measures.scales import ScaleRating


def test_rows_of_labels(tmp_path: Path) -> None:
    """Judges by name or code; of the whole trace, or of one run; by one rater or several."""
    path = tmp_path / "labels.json"
    path.write_text(
        json.dumps(
            [
                {"trace": "t", "judge": "LC", "score": 0},
                {"trace": "t", "judge": "tool-calling", "score": 3, "run": "r", "rater": "kim"},
                {"trace": "t", "judge": "my-own", "score": 1},
            ]
        )
    )
    assert load_labels(path) == (
        ScaleRating("t", "", "logical-consistency", 0),
        ScaleRating("t", "r", "tool-calling", 3, "kim"),
        ScaleRating("t", "", "my-own", 1),
    )


@pytest.mark.parametrize(
    "document",
    [
        {},
        ["t"],
        [{"trace": "t", "judge": "LC"}],
        [{"trace": "t", "judge": "LC", "score": 4}],
        [{"trace": 1, "judge": "LC", "score": 1}],
        [{"trace": "t", "judge": "LC", "score": "3"}],
    ],
)
def test_other_files_are_refused(tmp_path: Path, document: object) -> None:
    """By name."""
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(document))
    with pytest.raises(BrokenFileError, match=r"labels\.json"):
        load_labels(path)
