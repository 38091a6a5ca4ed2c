"""Labels read from files, line by line."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trail_folder import error

from tracejury.collector.labels.lines import (
    MAX_LINE,
    PAGE_BYTES,
    PAGE_LINES,
    LabelLine,
    pages,
    read_lines,
    read_trail,
    reviews_of,
    trail_files,
)
from tracejury.schemas.errors import NotFoundError

TRACE = "a" * 32


def lines_of(data: bytes) -> list[LabelLine]:
    return list(read_lines("file", io.BytesIO(data), "ann"))


@given(st.binary(max_size=200))
def test_any_bytes_are_lines_or_problems(data: bytes) -> None:
    """Nothing crashes; each line that is not blank is told by its number, and a problem is one line."""
    found = lines_of(data)
    expected = [n for n, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    assert [line.place for line in found] == [f"file:{n}" for n in expected]
    assert all("\n" not in line.problem for line in found)


@pytest.mark.parametrize(
    ("size", "fits"), [(MAX_LINE - 1, True), (MAX_LINE, True), (MAX_LINE + 1, False), (10**6, False)]
)
def test_a_line_is_bounded(size: int, fits: bool) -> None:  # noqa: FBT001  a parameter of the table
    """A longer one is refused alone: what follows is read, with its number."""
    empty = len(b'{"annotator": "bob", "x": ""}')
    long = b'{"annotator": "bob", "x": "' + b"y" * (size - empty) + b'"}'
    assert len(long) == size
    first, second = lines_of(long + b'\n{"kind": "review"}\n')
    assert bool(first.problem) != fits
    assert (second.place, second.item["kind"]) == ("file:2", "review")


def test_an_annotator_who_is_not_named() -> None:
    """Is the one who brings the file; a name that stands there stays."""
    first, second = lines_of(b'{"kind": "review"}\n{"annotator": "bob"}')
    assert (first.item["annotator"], second.item["annotator"]) == ("ann", "bob")


def test_pages_are_bounded_and_keep_the_order() -> None:
    """By lines, by bytes, and apart by whether lines say when they were said."""
    settled = LabelLine("s", {"changed_at": "2026-01-01"}, size=10)
    small, large = LabelLine("n", {}, size=10), LabelLine("l", {}, size=PAGE_BYTES - 15)
    given = [*[small] * (PAGE_LINES + 1), large, small, small, settled, settled, small]
    found = list(pages(given))
    assert [line for page in found for line in page] == given
    assert [len(page) for page in found] == [PAGE_LINES, 2, 2, 2, 1]
    assert list(pages([])) == []


def written(folder: Path, document: object, name: str = f"{TRACE}.json") -> Path:
    path = folder / name
    data = json.dumps(document).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_trail_errors_become_missed_ones(tmp_path: Path) -> None:
    """Trace by the document or the file's name, category as TRAIL's scorer reads it, severity by impact."""
    marked = error(4, "formatting errors", impact="low", evidence="quote", description="why")
    for path in (written(tmp_path, {"errors": [marked]}), written(tmp_path, {"errors": [marked]}, f"{TRACE}.json.gz")):
        (line,) = read_trail([path], "ann")
        assert {key: line.item[key] for key in line.item if key != "id"} == {
            "kind": "annotation", "annotator": "ann", "opinion": "missed", "trace_id": TRACE, "span_id": f"{4:016x}",
            "category": "Formatting Errors", "severity": "LOW", "evidence": "quote", "explanation": "why",
        }  # fmt: skip
    (named,) = read_trail([written(tmp_path, {"trace_id": "b" * 32, "errors": [marked]}, "x.json")], "ann")
    assert named.item["trace_id"] == "b" * 32


def test_several_errors_of_one_category_at_one_span_are_several(tmp_path: Path) -> None:
    """What is said tells them apart, and their order does not; the very same twice is one."""
    one, two = error(4, description="first"), error(4, description="second")
    there = {line.item["id"] for line in read_trail([written(tmp_path, {"errors": [one, two]})], "ann")}
    back = {line.item["id"] for line in read_trail([written(tmp_path, {"errors": [two, one, one]})], "ann")}
    assert (len(there), there) == (2, back)


@pytest.mark.parametrize("document", [[], {}, {"errors": 1}, "text", {"errors": ["text"]}, None])
def test_files_that_hold_no_annotations(tmp_path: Path, document: object) -> None:
    """Each is one problem, and the next file is read."""
    files = [written(tmp_path, document), written(tmp_path, {"errors": [error(1)]}, "b.json")]
    first, second = read_trail(files, "ann")
    assert first.problem
    assert not second.problem


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    """Named, and no crash."""
    path = tmp_path / "a.json.gz"
    path.write_bytes(b"no gzip")
    (line,) = read_trail([path], "ann")
    assert "a.json.gz is broken" in line.problem


def test_which_files_are_trails(tmp_path: Path) -> None:
    """A file by its suffix, a folder's files, those of its folder of annotations."""
    (tmp_path / "annotations").mkdir()
    inner = written(tmp_path / "annotations", {}, "x.json")
    lines = tmp_path / "labels.jsonl"
    lines.write_text("")
    assert trail_files(tmp_path) == [inner] == trail_files(tmp_path / "annotations") == trail_files(inner)
    assert trail_files(lines) == []


def test_reviews_of_what_was_annotated(tmp_path: Path) -> None:
    """One a run of each trace; a trace that is not stored has none."""
    document = {"errors": [error(1), error(2)]}
    found = list(read_trail([written(tmp_path, document), written(tmp_path, document, f"{'b' * 32}.json")], "ann"))

    def run_ids(trace_id: str) -> list[str]:
        if trace_id != TRACE:
            raise NotFoundError("no such trace")
        return ["run-1", "run-2"]

    reviews = [line.item for line in reviews_of(found, "ann", run_ids)]
    assert [(r["trace_id"], r["agent_run_id"]) for r in reviews] == [(TRACE, "run-1"), (TRACE, "run-2")]
