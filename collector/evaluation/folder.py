"""A TRAIL folder: `traces/<name>.json[.gz]`, `annotations/<name>.json[.gz]`, perhaps `dimensions.json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

from tracejury.collector.judging.detect.direct import DecodedSpans, stored
from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.collector.otlp.files import BrokenFileError, read
from tracejury.collector.otlp.files.files import read_json
from tracejury.judges.agreement import Annotated
from tracejury.judges.annotations import canonical_category

from .people import MarkedError, People, Reviewed

DIMENSIONS = "dimensions.json"


@dataclass(frozen=True, slots=True)
class AnnotatedError:
    """One annotated error with the words of its annotator."""

    error: Annotated
    text: str


@dataclass(frozen=True, slots=True)
class TrailFolder:
    """The contents of a folder.

    `received`: what a receiver makes of the requests. `names` maps each trace id to the name of its file: the unit that
    is scored. `annotations` by that name, for the traces at hand that have any file of annotations, an empty one
    included. `spare` counts annotation files without a trace. `reviewed`: by name, the agent runs that people have
    looked at; None: all of what is annotated. `outcomes`: by name, how well a trace came out, where its annotations
    tell.
    """

    requests: tuple[Request, ...]
    received: DecodedSpans
    names: Mapping[str, str]
    annotations: Mapping[str, tuple[AnnotatedError, ...]] = field(default_factory=dict)
    spare: int = 0
    reviewed: Reviewed | None = None
    outcomes: Mapping[str, float] = field(default_factory=dict)

    def scored(self, name: str, run_id: str) -> bool:
        """Whether what is found in an agent run can be held against what people marked."""
        return name in self.annotations and (self.reviewed is None or run_id in self.reviewed[name])

    @property
    def unannotated(self) -> int:
        """Traces without a file of annotations: judged and counted, not scored."""
        return len(set(self.names.values()) - set(self.annotations))


def load(
    folder: Path,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    limit: int = 0,
    people: People | None = None,
) -> TrailFolder:
    """Read a folder, the first `limit` traces by name (0: all); `progress` is told (files read, files).

    With reviews of `people`, what they marked takes the place of the folder's annotations.

    Raises:
        BrokenFileError: there are no traces, or a file is not what it should be; names the file.
    """
    files = dict(islice(named_files(folder / "traces").items(), limit or None))
    if not files:
        raise BrokenFileError(f"no traces in {folder}: expected {folder}/traces/*.json or *.json.gz")
    requests: list[Request] = []
    names: dict[str, str] = {}
    for done, (name, path) in enumerate(files.items()):
        progress(done, len(files))
        for source in read([path]):
            requests.append(source.request)
            if schema_of(source.request) is SPANS:
                names.update((span.trace_id.hex(), name) for _, _, span in rows(source.request))
    progress(len(files), len(files))
    read_folder = TrailFolder(tuple(requests), stored(requests), names)
    if people is not None and people.reviewed is not None:
        return _labelled(read_folder, people.marked, people.reviewed)
    labels = _dimensions(folder / DIMENSIONS)
    marked = named_files(folder / "annotations")
    annotations = {name: _annotations(name, path, labels) for name, path in marked.items() if name in files}
    spare = 0 if limit else len(marked) - len(annotations)
    outcomes = {name: out for name in annotations if (out := _outcome(marked[name])) is not None}
    return replace(read_folder, annotations=annotations, spare=spare, outcomes=outcomes)


def _labelled(folder: TrailFolder, marked: Iterable[MarkedError], reviewed: Reviewed) -> TrailFolder:
    """With the labels of the traces at hand, by name."""
    names = folder.names
    runs: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for trace_id, own in reviewed.items():
        if trace_id in names:
            runs[names[trace_id]] |= own
    annotations: dict[str, list[AnnotatedError]] = {name: [] for name in runs}
    for m in marked:
        name = names.get(m.trace_id, "")
        if m.run_id in runs.get(name, ()):
            error = Annotated(name, m.span_id, m.category, m.severity.value)
            annotations[name].append(AnnotatedError(error, m.text))
    spare = len(reviewed.keys() - names.keys())
    found = {name: tuple(own) for name, own in annotations.items()}
    return replace(folder, annotations=found, spare=spare, reviewed=dict(runs))


def named_files(folder: Path) -> dict[str, Path]:
    """JSON files of a folder by what stands before `.json`, sorted."""
    found = (p for pattern in ("*.json", "*.json.gz") for p in folder.glob(pattern))
    return {p.name.removesuffix(".gz").removesuffix(".json"): p for p in sorted(found)}


def _annotations(name: str, path: Path, labels: Mapping[str, Any]) -> tuple[AnnotatedError, ...]:
    document = read_json(path)
    errors = document.get("errors") if isinstance(document, dict) else None
    if not isinstance(errors, list) or not all(isinstance(e, dict) for e in errors):
        raise BrokenFileError(f'{path} holds no annotations: expected {{"errors": [...]}}')
    dimensions = labels.get(name) or [[] for _ in errors]
    if len(dimensions) != len(errors):
        raise BrokenFileError(f"{DIMENSIONS} labels {len(dimensions)} errors of {name}, {path} has {len(errors)}")
    return tuple(_annotation(name, e, labelled) for e, labelled in zip(errors, dimensions, strict=True))


def _outcome(path: Path) -> float | None:
    """The outcome of a trace: `outcome` of its annotations (true, false or a number), else TRAIL's overall score."""
    document = read_json(path)
    scores = document.get("scores") if isinstance(document, dict) else None
    overall = scores[0].get("overall") if isinstance(scores, list) and scores and isinstance(scores[0], dict) else None
    given = document.get("outcome", overall)
    return float(given) if isinstance(given, int | float) and isfinite(given) else None


def _annotation(name: str, error: Mapping[str, Any], dimensions: list[Any]) -> AnnotatedError:
    def field(key: str) -> str:
        return str(error.get(key) or "").strip()

    annotated = Annotated(
        trace_id=name,
        span_id=field("location").lower(),
        category=canonical_category(field("category")),
        impact=field("impact").upper(),
        dimensions=tuple(str(d) for d in dimensions),
    )
    return AnnotatedError(annotated, f"{field('evidence')} || {field('description')}")


def _dimensions(path: Path) -> Mapping[str, Any]:
    if not path.exists():
        return {}
    labels = read_json(path)
    if not isinstance(labels, dict) or not all(isinstance(rows, list) for rows in labels.values()):
        raise BrokenFileError(f"{path} holds no dimensions: expected {{trace: [[dimension, ...], ...]}}")
    return labels
