"""Labels of a folder of traces with labelled steps: TRAIL's annotations, and who is to blame and when.

An annotation file may hold two keys beside TRAIL's: `steps`, a list of [step number of the source, its speaker, id of
the span that made it], and `label`, {"agent", "step"}, the answer of Who&When.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tracejury.collector.otlp.files import BrokenFileError
from tracejury.collector.otlp.files.files import read_json
from tracejury.judges.measures.step_figures import LabelledTrace

from .folder import TrailFolder, named_files
from .score import annotated


@dataclass(frozen=True, slots=True)
class StepLabels:
    """Labels by trace name, of the traces with a file of annotations.

    `invalid` counts the errors left out because they blame what is no error. `unknown_spans` are the labels on spans
    that their trace does not have, as (trace name, span id): no claim can find them.
    """

    traces: Mapping[str, LabelledTrace]
    invalid: int
    unknown_spans: tuple[tuple[str, str], ...]


def step_labels(path: Path, folder: TrailFolder) -> StepLabels:
    """The labels of a folder that was read from `path`.

    Raises:
        BrokenFileError: no trace has annotations, or a file of them is not what it should be; names the file.
    """
    if not folder.annotations:
        raise BrokenFileError(f"no annotations in {path}: expected {path}/annotations/NAME.json for traces/NAME.json")
    files = named_files(path / "annotations")
    gold = annotated(folder)
    errors: defaultdict[str, list[str]] = defaultdict(list)
    for error in gold:
        if not error.invalid:
            errors[error.trace_id].append(error.span_id)
    known = {(folder.names.get(s.trace_id, ""), s.span_id) for s in folder.received.spans}
    labelled = {
        name: _labelled(name, files[name], tuple(errors[name]), error_free=not folder.annotations[name])
        for name in sorted(folder.annotations)
    }
    return StepLabels(
        traces=labelled,
        invalid=sum(bool(error.invalid) for error in gold),
        unknown_spans=tuple(
            (name, span)
            for name, trace in labelled.items()
            for span in dict.fromkeys((*trace.errors, *([trace.step] if trace.step else [])))
            if (name, span) not in known
        ),
    )


def _labelled(name: str, path: Path, errors: tuple[str, ...], *, error_free: bool) -> LabelledTrace:
    document = read_json(path)
    steps = _steps(path, document.get("steps") or [])
    speakers: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for _, speaker, span in steps:
        speakers[span] |= {speaker}
    match document.get("label"):
        case None:
            agent, span = "", ""
        case {"agent": str() as agent, "step": int() as step}:
            span = next((at for number, _, at in steps if number == step), "")
            if not span:
                raise BrokenFileError(f'{path}: the label blames step {step}, which "steps" does not have')
        case _:
            raise BrokenFileError(f'{path}: "label" is not {{"agent": name, "step": number}}')
    return LabelledTrace(name, errors, error_free, agent, span, dict(speakers))


def _steps(path: Path, steps: object) -> list[tuple[int, str, str]]:
    found = []
    for row in steps if isinstance(steps, list) else [steps]:
        match row:
            case [int() as number, str() as speaker, str() as span]:
                found.append((number, speaker, span.lower()))
            case _:
                raise BrokenFileError(f'{path}: "steps" are not [[number, speaker, span id], ...]')
    return found
