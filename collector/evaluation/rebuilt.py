"""A TRAIL folder prepared for judges: its traces rebuilt, with the detectors' findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracejury.collector.otlp.files.files import read_json
from tracejury.judges.agreement import Annotated
from tracejury.judges.measures.dimension_labels import LabelledErrors, parse_labels, with_dimensions
from tracejury.judges.measures.step_figures import LabelledTrace
from tracejury.judges.registry import default_suite
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace

from .folder import DIMENSIONS, TrailFolder, load
from .people import People
from .score import annotated
from .steps_labels import step_labels


@dataclass(frozen=True, slots=True)
class RebuiltFolder:
    """The traces by (name of the file, trace id), and the detectors' findings by trace id.

    `decided`: by name, the labels of traces of which people said who is to blame and when.
    """

    folder: TrailFolder
    gold: LabelledErrors
    traces: tuple[Trace, ...]
    detected: Mapping[str, tuple[Finding, ...]]
    failures: Mapping[str, str]
    decided: Mapping[str, LabelledTrace] = field(default_factory=dict)

    def name(self, trace: Trace) -> str:
        """The name of the trace's file: the unit that is scored."""
        return self.folder.names.get(trace.trace_id, trace.trace_id)

    @property
    def errors(self) -> Sequence[Annotated]:
        """Annotated errors with their dimensions, by name of the trace, then in the order of its file."""
        return self.gold.errors


def rebuild_folder(path: Path, *, limit: int = 0, people: People | None = None) -> RebuiltFolder:
    """Read a folder, rebuild its traces (the first `limit`; 0: all) and run the detectors over them.

    With reviews of `people`, what they marked takes the place of the folder's annotations.

    Raises:
        BrokenFileError: the folder does not hold what it should; names the file.
        PermanentError: `dimensions.json` does not fit the annotations; names the trace.
    """
    folder = load(path, limit=limit, people=people)
    built = sorted(folder.received.traces(), key=lambda t: folder.names.get(t.trace_id, ""))
    people_marked = folder.reviewed is not None
    told = not people_marked and (path / DIMENSIONS).exists()
    labels = parse_labels(read_json(path / DIMENSIONS)) if told else {}
    labelled = step_labels(path, folder).traces if folder.annotations and not people_marked else {}
    suite = default_suite()
    results = {trace.trace_id: suite.judge(trace) for trace in built}
    return RebuiltFolder(
        folder=folder,
        gold=with_dimensions(annotated(folder), labels),
        traces=tuple(built),
        detected={trace_id: result.findings for trace_id, result in results.items()},
        failures={name: why for result in results.values() for name, why in result.failures},
        decided={name: trace for name, trace in labelled.items() if trace.step},
    )
