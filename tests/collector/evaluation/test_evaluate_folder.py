"""TRAIL folders: whatever number of traces, annotated or not, and files that are not what they should be."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from trail_folder import error, trace, write

from tracejury.collector.evaluation.folder import load
from tracejury.collector.otlp.codec import otlp_json
from tracejury.collector.otlp.codec.groups import count
from tracejury.collector.otlp.files import BrokenFileError, trail

A, B, C = "a" * 32, "b" * 32, "c" * 32


def test_traces_and_annotations_meet_by_name(tmp_path: Path) -> None:
    """Plain and gzipped traces; one without annotations; annotations without a trace are counted."""
    folder = load(write(tmp_path / "x", [A, B, C], {A: [error(2), error(3)], B: [], "d" * 32: [error(1)]}))
    assert sum(count(r) for r in folder.requests) == 15
    assert dict(folder.names) == {A: A, B: B, C: C}
    assert {name: len(marked) for name, marked in folder.annotations.items()} == {A: 2, B: 0}
    assert (folder.unannotated, folder.spare) == (1, 1)


def test_a_trace_is_known_by_its_file(tmp_path: Path) -> None:
    """Annotations belong to the file of their name, whatever trace id the spans in it carry."""
    path = write(tmp_path / "x", [A], {})
    (path / "traces" / f"{A}.json").rename(path / "traces" / "first.json")
    (path / "annotations" / "first.json").write_text(json.dumps({"errors": [error(2)]}))
    folder = load(path)
    assert folder.names == {A: "first"}
    assert folder.annotations["first"][0].error.trace_id == "first"


def test_annotations_are_read_as_they_are_written(tmp_path: Path) -> None:
    """Locations in any case, categories by likeness, missing fields empty; gzipped; with a comma too many."""
    path = write(tmp_path / "x", [A, B], {A: [error(10, "formatting errors", location=" 000000000000000A ")]})
    broken = '{"errors": [{"category": null, "location": "2",}, ], }'
    (path / "annotations" / f"{B}.json.gz").write_bytes(gzip.compress(broken.encode()))
    folder = load(path)
    (first,), (second,) = folder.annotations[A], folder.annotations[B]
    assert (first.error.span_id, first.error.category) == ("000000000000000a", "Formatting Errors")
    assert (second.error.span_id, second.error.category, second.error.impact) == ("2", "", "")


def test_dimensions_are_taken_in_the_order_of_the_errors(tmp_path: Path) -> None:
    """One list an error; a trace that the file leaves out has none."""
    path = write(tmp_path / "x", [A, B], {A: [error(2), error(3)], B: [error(2)]})
    (path / "dimensions.json").write_text(json.dumps({A: [["EE", "TC"], []]}))
    folder = load(path)
    assert [a.error.dimensions for a in folder.annotations[A]] == [("EE", "TC"), ()]
    assert folder.annotations[B][0].error.dimensions == ()


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        (f"traces/{A}.json", "{", "broken JSON"),
        (f"traces/{A}.json", "{}", "neither OTLP nor TRAIL"),
        (f"annotations/{A}.json", "{", "is broken"),
        (f"annotations/{A}.json", "[]", "holds no annotations"),
        (f"annotations/{A}.json", '{"errors": ["text"]}', "holds no annotations"),
        ("dimensions.json", "[]", "holds no dimensions"),
        ("dimensions.json", json.dumps({A: [["EE"]] * 7}), "labels 7 errors"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, file: str, content: str, reason: str) -> None:
    """One clear line, whichever of the files it is."""
    path = write(tmp_path / "x", [A], {A: [error(2)]})
    (path / file).write_text(content)
    with pytest.raises(BrokenFileError, match=reason) as caught:
        load(path)
    assert Path(file).name in str(caught.value)


def test_a_folder_without_traces(tmp_path: Path) -> None:
    """What was expected where is said."""
    with pytest.raises(BrokenFileError, match=r"no traces in .*expected .*traces"):
        load(tmp_path)


def test_traces_in_otlp_json_are_taken_too(tmp_path: Path) -> None:
    """A folder may hold any form that replay reads, under the name of its annotations."""
    path = write(tmp_path / "x", [A], {A: [error(2)]})
    request, _ = trail.parse(trace(B))
    (path / "traces" / "other.json").write_bytes(otlp_json.render(request))
    assert load(path).names == {A: A, B: "other"}
