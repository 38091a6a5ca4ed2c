"""Labels read from a running collector or an export, or a list of scores."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO, Any, Final

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.params_labels import item_of
from tracejury.collector.labels.checks import checked
from tracejury.collector.labels.lines import LabelLine, read_lines
from tracejury.collector.otlp.files import BrokenFileError
from tracejury.collector.otlp.files.files import read_json
from tracejury.judges.measures.dimension_labels import JUDGES
from tracejury.judges.measures.people import seen_errors
from tracejury.judges.measures.scales import SCALE, THREE_POINT, ScaleRating
from tracejury.schemas.annotations import SESSION_LABELS, TRACE_LABELS, Annotation, ErrorLabel, Opinion, SessionLabel
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.taxonomy import TRAIL, Severity
from tracejury.schemas.text.moments import parse_since

from .judges_result import WHOLE_TRACE

Reviewed = Mapping[str, frozenset[str]]
"""By trace id, the agent runs that somebody has looked at as a whole."""


@dataclass(frozen=True, slots=True)
class MarkedError:
    """An error that all people see who said anything of it, with their words."""

    trace_id: str
    run_id: str
    span_id: str
    category: str
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class People:
    """Scores, marked errors and reviewed runs; `reviewed` is None where people gave nothing but `scores`.

    A `reviewed` run has no errors but the `marked` ones.

    Scores are by trace id, or as their list names traces.
    """

    scores: Sequence[ScaleRating] = ()
    marked: Sequence[MarkedError] = ()
    reviewed: Reviewed | None = None


Source = Path | str
"""A file, or the address of a collector."""

_URLS: Final = ("http://", "https://")


def is_url(source: Source) -> bool:
    """Whether the source is a collector's address."""
    return str(source).startswith(_URLS)


def read_people(source: Source) -> People:
    """Labels, as `tracejury labels export` gives them, or a list of scores (see `load_labels`).

    Raises:
        BrokenFileError: it holds neither, or no review; names the line.
        TracejuryError: the collector cannot be asked.
    """
    with _opened(source) as stream:
        if stream.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" or is_url(source):
            stream.seek(0)
            return _people(str(source), read_lines(str(source), stream, ""))
    return People(load_labels(Path(source)))


def read_session_labels(source: Source, *, withdrawn: bool = False) -> list[SessionLabel]:
    """The labels of sessions that stand; other kinds are passed over. `service` is "" where a line names none.

    `withdrawn`: those that do not, too.

    Raises:
        BrokenFileError: a line is no label; names it.
        TracejuryError: the collector cannot be asked.
    """
    found: list[SessionLabel] = []
    with _opened(source) as stream:
        for line in read_lines(str(source), stream, ""):
            if line.problem:
                raise BrokenFileError(f"{line.place}: {line.problem}")
            if line.item.get("kind") != SessionLabel.kind:
                continue
            try:
                label = checked(item_of(dict(line.item)).said(0))
            except ConfigError as error:
                raise BrokenFileError(f"{line.place}: {error}") from None
            found += [label.identified()] if isinstance(label, SessionLabel) else ()
    last = {label.id: label for label in sorted(found, key=lambda label: label.changed_at)}
    return [label for label in last.values() if withdrawn or not label.withdrawn]


def read_missed_errors(source: Source) -> frozenset[tuple[str, str]]:
    """Trace id and span id of each error that somebody marked as missed, such as those planted in simulated sessions.

    Raises:
        BrokenFileError: the file cannot be read, or says a time that is none.
        TracejuryError: the collector cannot be asked.
    """
    with _opened(source) as stream:
        rows = [line.item for line in read_lines(str(source), stream, "") if not line.problem]
    last: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in sorted((row for row in rows if row.get("kind", Annotation.kind) == Annotation.kind), key=_at):
        last[tuple(str(row.get(name)) for name in ("trace_id", "span_id", "category", "annotator"))] = row
    standing = (row for row in last.values() if not row.get("withdrawn") and row.get("opinion") == Opinion.MISSED)
    return frozenset((str(row.get("trace_id")), str(row.get("span_id"))) for row in standing)


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    if is_url(source):
        with ApiClient(str(source)) as client:
            yield io.BytesIO(b"".join(client.export_labels({})))
        return
    try:
        with Path(source).open("rb") as stream:
            yield stream
    except OSError as error:
        raise BrokenFileError(f"{source} cannot be read: {error.strerror}") from None


def named(scores: Iterable[ScaleRating], names: Mapping[str, str]) -> list[ScaleRating]:
    """Scores by the names that a folder gives to its traces."""
    return [replace(score, trace_id=names.get(score.trace_id, score.trace_id)) for score in scores]


def _people(name: str, lines: Iterable[LabelLine]) -> People:
    rows = list(_standing(_good(lines)))
    reviewed: defaultdict[str, set[str]] = defaultdict(set)
    for row in _of(rows, "review"):
        reviewed[row["trace_id"]].add(row["agent_run_id"])
    if not reviewed:
        raise BrokenFileError(f"{name} holds no review: nothing tells which runs people have looked at as a whole")
    annotations = [_annotation(row) for row in _of(rows, "annotation")]
    scores = [_score(row) for row in _of(rows, "score") if row["score"] is not None]
    return People(scores, list(_marked(annotations)), {trace: frozenset(runs) for trace, runs in reviewed.items()})


def _good(lines: Iterable[LabelLine]) -> Iterator[Mapping[str, Any]]:
    """Rows with what each kind must have."""
    for line in lines:
        if line.item.get("kind") in _OF_SESSIONS:
            continue
        needed = _NEEDED.get(str(line.item.get("kind")))
        wrong = [key for key in needed if not isinstance(line.item.get(key), str)] if needed else ["a known kind"]
        if line.problem or wrong:
            raise BrokenFileError(f"{line.place}: {line.problem or f'no label: {wrong[0]} is missing'}")
        yield line.item


_OF_SESSIONS: Final = {kind.kind for kind in SESSION_LABELS}
_KEYS: Final = {kind.kind: kind.key for kind in TRACE_LABELS}
_NEEDED: Final = _KEYS | {Annotation.kind: (*Annotation.key, "annotator", "span_id", "category")}


def _standing(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The last change of each label, unless that withdrew it."""
    last: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in sorted(rows, key=_at):
        last[row["kind"], *(row[name] for name in _KEYS[row["kind"]])] = row
    yield from (row for row in last.values() if not row.get("withdrawn"))


def _at(row: Mapping[str, Any]) -> int:
    try:
        return parse_since(row["changed_at"], 0) if row.get("changed_at") else 0
    except (ValueError, AttributeError) as error:
        raise BrokenFileError(f"a label of kind {row.get('kind')}: {error}") from None


def _of(rows: Iterable[Mapping[str, Any]], kind: str) -> Iterator[Mapping[str, Any]]:
    return (row for row in rows if row["kind"] == kind)


def _annotation(row: Mapping[str, Any]) -> Annotation:
    try:
        return Annotation(
            **{field.name: row[field.name] for field in fields(Annotation) if isinstance(row.get(field.name), str)}
            | {
                "taxonomy": row.get("taxonomy") or TRAIL,
                "severity": Severity(row.get("severity") or Severity.MEDIUM),
                "opinion": Opinion(row.get("opinion") or Opinion.MISSED),
                "changed_at": _at(row),
            }
        )
    except ValueError as error:
        raise BrokenFileError(f"a label of trace {row['trace_id']}: {error}") from None


def _marked(annotations: Iterable[Annotation]) -> Iterator[MarkedError]:
    for error in seen_errors(annotations):
        if error.label is ErrorLabel.RIGHT:
            first = error.said[0]
            yield MarkedError(
                trace_id=first.trace_id,
                run_id=first.agent_run_id,
                span_id=first.span_id,
                category=first.category,
                severity=max((a.severity for a in error.said), key=lambda s: s.rank),
                text=" || ".join(text for a in error.said for text in (a.evidence, a.explanation) if text),
            )


def _score(row: Mapping[str, Any]) -> ScaleRating:
    judge = JUDGES.get(row["dimension"], row["dimension"])
    return ScaleRating(row["trace_id"], row["agent_run_id"], judge, int(row["score"]), row["annotator"])


def load_labels(path: Path) -> tuple[ScaleRating, ...]:
    """A list of `{"trace", "judge", "score"}`; optionally with the `run` (an agent run's id), `rater` and `points`.

    `judge`: its name, or the code of its dimension. `score`: 0 to 3, or 0 to 2 where `points` is 3.

    Raises:
        BrokenFileError: it is not; names the row.
    """
    document = read_json(path)
    if not isinstance(document, list):
        raise BrokenFileError(f"{path} holds no labels: expected a list of objects with trace, judge and score")
    return tuple(_row(path, number, row) for number, row in enumerate(document, start=1))


def _row(path: Path, number: int, row: Any) -> ScaleRating:
    match row:
        case {"trace": str() as trace, "judge": str() as judge, "score": int() as score}:
            points = row.get("points", len(SCALE))
            if points in {len(THREE_POINT), len(SCALE)} and score in range(points):
                name, run, rater = JUDGES.get(judge, judge), _text(row, "run", WHOLE_TRACE), _text(row, "rater", "")
                return ScaleRating(trace, run, name, int(score), rater, int(points))
    raise BrokenFileError(
        f"{path}: label {number} is not of the form trace, judge, score from 0 to 3 (or 0 to 2 with points: 3)"
    )


def _text(row: Mapping[str, Any], key: str, default: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else default
