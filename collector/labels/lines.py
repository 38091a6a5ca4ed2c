"""Labels read from files: JSON lines of ours, and files of annotations as the TRAIL benchmark has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from tracejury.collector.otlp.files import BrokenFileError
from tracejury.collector.otlp.files.files import read_json
from tracejury.judges.annotations import canonical_category
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.findings import digest
from tracejury.schemas.taxonomy import Severity

MAX_LINE: Final = 65_000
"""Bytes of one label as JSON: no label that was ever taken has more, and a request of one fits into the API's bound."""
PAGE_BYTES: Final = 60_000
PAGE_LINES: Final = 100

_SUFFIXES: Final = (".json", ".json.gz")


@dataclass(frozen=True, slots=True)
class LabelLine:
    """One label as it stands in a file, or (`problem`) why it is none. `place`: where it stands, for people.

    `settled`: it says when it was said; else it counts only where nothing was said in its place before.
    """

    place: str
    item: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    size: int = 0

    @property
    def settled(self) -> bool:
        """Whether it has a time of change."""
        return bool(self.item.get("changed_at"))


def read_lines(name: str, stream: IO[bytes], annotator: str) -> Iterator[LabelLine]:
    """Each line of JSON lines; blank ones are passed over; `annotator` of those that name none."""
    number = 0
    while data := stream.readline(MAX_LINE + 1):
        number += 1
        place = f"{name}:{number}"
        if len(data) > MAX_LINE and not data.endswith(b"\n"):
            while len(data) > MAX_LINE and not data.endswith(b"\n"):
                data = stream.readline(MAX_LINE + 1)
            yield LabelLine(place, problem=f"the line is longer than {MAX_LINE:,} bytes")
        elif data.strip():
            yield _line(place, data, annotator)


def read_trail(paths: Iterable[Path], annotator: str) -> Iterator[LabelLine]:
    """Each error of TRAIL's files of annotations, as a missed one: it names an error, whatever any judge found."""
    for path in paths:
        try:
            document = read_json(path)
        except BrokenFileError as error:
            yield LabelLine(str(path), problem=str(error))
            continue
        errors = document.get("errors") if isinstance(document, dict) else None
        if not isinstance(errors, list):
            yield LabelLine(str(path), problem='no annotations: expected {"errors": [...]}')
            continue
        trace_id = _text(document, "trace_id") or path.name.removesuffix(".gz").removesuffix(".json")
        for number, marked in enumerate(errors, 1):
            place = f"{path}: error {number}"
            if isinstance(marked, dict):
                yield _trail(place, marked, trace_id, annotator)
            else:
                yield LabelLine(place, problem="it is no JSON object")


def reviews_of(
    lines: Iterable[LabelLine], annotator: str, run_ids: Callable[[str], Iterable[str]]
) -> Iterator[LabelLine]:
    """A review of each agent run of the traces of these lines; what cannot be asked of a trace is its problem."""
    traces = {str(line.item["trace_id"]): line for line in lines if not line.problem}
    for trace_id, line in traces.items():
        try:
            runs = list(run_ids(trace_id))
        except NotFoundError:
            continue  # its annotations are refused for that reason
        for run_id in runs:
            item = {"kind": "review", "annotator": annotator, "trace_id": trace_id, "agent_run_id": run_id}
            yield _sized(line.place, item)


def trail_files(path: Path) -> list[Path]:
    """TRAIL's files of annotations: the file, those of the folder, or those of its folder `annotations`."""
    if path.is_file():
        return [path] if path.name.endswith(_SUFFIXES) else []
    folder = path / "annotations"
    folder = folder if folder.is_dir() else path
    return sorted(p for p in folder.iterdir() if p.name.endswith(_SUFFIXES))


def pages(lines: Iterable[LabelLine]) -> Iterator[list[LabelLine]]:
    """Good lines in requests of bounded size; settled ones and others apart, in order."""
    page: list[LabelLine] = []
    size = 0
    for line in lines:
        full = len(page) == PAGE_LINES or size + line.size > PAGE_BYTES
        if page and (full or page[0].settled != line.settled):
            yield page
            page, size = [], 0
        page.append(line)
        size += line.size
    if page:
        yield page


def _line(place: str, data: bytes, annotator: str) -> LabelLine:
    try:
        item = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return LabelLine(place, problem=f"it is no JSON: {' '.join(str(error).split())[:200]}")
    if not isinstance(item, dict):
        return LabelLine(place, problem="it is no JSON object")
    return _sized(place, {"annotator": annotator} | item)


def _trail(place: str, error: Mapping[str, Any], trace_id: str, annotator: str) -> LabelLine:
    impact = _text(error, "impact").upper()
    item = {
        "kind": "annotation",
        "annotator": annotator,
        "opinion": "missed",
        "trace_id": trace_id,
        "span_id": _text(error, "location").lower(),
        "category": canonical_category(_text(error, "category")),
        "severity": impact if impact in set(Severity) else None,
        "evidence": _text(error, "evidence"),
        "explanation": _text(error, "description"),
    }
    # Several errors of one category at one span are several: what is said of them tells them apart.
    return _sized(place, item | {"id": digest(("trail", *(str(value) for value in item.values())))})


def _sized(place: str, item: Mapping[str, Any]) -> LabelLine:
    try:
        size = len(json.dumps(item, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, RecursionError) as error:
        return LabelLine(place, problem=f"it cannot be sent as JSON: {' '.join(str(error).split())[:200]}")
    if size > MAX_LINE:
        return LabelLine(place, problem=f"it is longer than {MAX_LINE:,} bytes")
    return LabelLine(place, item, size=size)


def _text(document: Mapping[str, Any], key: str) -> str:
    return str(document.get(key) or "").strip()
