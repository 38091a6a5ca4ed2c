"""Matches told by a person's file, as decisions on every pair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracejury.collector.evaluation.matches import Sides, load_matches
from tracejury.collector.otlp.files import BrokenFileError
from tracejury.judges.agreement import Annotated, Predicted


def test_a_file_of_matches(tmp_path: Path) -> None:
    """By trace; the matches of a stored report are read as well."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"t": [[0, "f"], [0, "g"]], "u": []}))
    expected = {"t": {(0, "f"), (0, "g")}, "u": frozenset[object]()}
    assert load_matches(path) == expected
    path.write_text(json.dumps({"traces": 3, "matches": {"t": [[0, "f"], [0, "g"]], "u": []}}))
    assert load_matches(path) == expected


@pytest.mark.parametrize(
    "document", [[], {"t": 1}, {"t": [1]}, {"t": [[0]]}, {"t": [["f", 0]]}, {"t": [[-1, "f"]]}, {"t": [[True, "f"]]}]
)
def test_other_files_are_refused(tmp_path: Path, document: object) -> None:
    """By name."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(BrokenFileError, match=r"m\.json"):
        load_matches(path)


def test_every_pair_of_the_traces_looked_at_is_decided() -> None:
    """Numbers of errors are those of their trace; unknown findings and errors, and other traces, are left out."""
    errors = [Annotated("u", "s", "c"), Annotated("t", "s", "c"), Annotated("t", "s", "c")]
    sides = Sides(errors, [Predicted(t, "", "", id=i) for t, i in (("t", "f"), ("t", "g"), ("u", "f"))])
    matches = {"t": frozenset({(1, "f"), (0, "gone"), (7, "f")}), "elsewhere": frozenset({(0, "f")})}
    decided = {(m.error, m.finding): m.caught for m in sides.decisions(matches)}
    assert decided == {(1, 0): False, (1, 1): False, (2, 0): True, (2, 1): False}
