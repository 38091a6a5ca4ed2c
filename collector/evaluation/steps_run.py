"""`tracejury evaluate steps`: judge folders of traces with labelled steps, and score what is told of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...judges.measures.located_claim import LocatedClaim, claims_of
from ...judges.measures.rule_records import RuleRecords, leave_one_out, rule_records
from ...judges.measures.step_figures import LabelledTrace, StepFigures, total, trace_figures
from ...judges.registry import default_suite
from ...judges.suite import Suite
from ...schemas.errors import ConfigError
from ...schemas.profiles import threshold
from ..judging.detect.direct import normalized, stored, traces
from .folder import load
from .steps_baselines import EVERY_CALL, FIRST_FAILURE, every_call, first_failure
from .steps_labels import StepLabels, step_labels
from .steps_recordings import DataSetOverlap, marks, overlaps

CLAIMS = "claims"
"""What is scored beside the baselines: the claims that the profile shows."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class JudgedDataSet:
    """The labels of one folder and the claims in its labelled traces, by name of the trace.

    `claims` are all, whatever their confidence; `baselines` by name of the baseline. `recordings`: the marks of each
    labelled trace, by its name. `refused`: spans or log records that the receiver refused. `failures`: detectors that
    failed, and why.
    """

    labels: StepLabels
    claims: Mapping[str, Sequence[LocatedClaim]]
    baselines: Mapping[str, Mapping[str, Sequence[LocatedClaim]]]
    recordings: Mapping[str, frozenset[str]]
    unannotated: int
    refused: int
    failures: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StepsEvaluation:
    """The report of `evaluate steps`.

    `figures`: by CLAIMS or the name of a baseline, then by data set. `together`: of all data sets as one, in which a
    run that several hold counts once, with the labels of the last. `rules` and `rules_elsewhere`: the record of each
    rule in each data set, and over the others, of all its claims, whatever their confidence.
    """

    profile: str
    data_sets: Mapping[str, JudgedDataSet]
    figures: Mapping[str, Mapping[str, StepFigures]]
    together: Mapping[str, StepFigures]
    rules: RuleRecords
    rules_elsewhere: RuleRecords
    overlaps: tuple[DataSetOverlap, ...]


def evaluate_steps(
    paths: Iterable[Path], *, profile: str = "balanced", progress: Progress = lambda _stage, _done, _of: None
) -> StepsEvaluation:
    """Judge the traces of each folder with all detectors, in this process, and score the claims.

    A folder is a data set, named as it is.

    Raises:
        BrokenFileError: a folder does not hold what it should; names the file.
        ConfigError: no such profile, or two folders of one name.
    """
    least = threshold(profile)
    folders: dict[str, Path] = {}
    for path in paths:
        name = path.resolve().name
        if name in folders:
            raise ConfigError(f"two data sets are named {name}: {folders[name]} and {path}; rename one of the folders")
        folders[name] = path
    suite = default_suite()
    judged = {name: judge_data_set(name, path, suite, progress) for name, path in folders.items()}
    return score_steps(judged, profile=profile, least=least)


def judge_data_set(name: str, path: Path, suite: Suite, progress: Progress) -> JudgedDataSet:
    """Judge one folder."""
    folder = load(path, lambda done, of: progress(f"reading {name}", done, of))
    received = stored(folder.requests)
    labels = step_labels(path, folder, received.spans)
    claims: defaultdict[str, list[LocatedClaim]] = defaultdict(list)
    baselines = {b: defaultdict[str, list[LocatedClaim]](list) for b in (FIRST_FAILURE, EVERY_CALL)}
    failures: dict[str, str] = {}
    recordings: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    rebuilt = traces(normalized(received.spans, received.logs))
    for done, trace in enumerate(rebuilt):
        progress(f"judging {name}", done, len(rebuilt))
        result = suite.judge(trace)
        failures.update(result.failures)
        if (file := folder.names[trace.trace_id]) in labels.traces:
            recordings[file] |= marks(trace)
        for found, into in (
            (claims_of(trace, result.findings), claims),
            (first_failure(trace), baselines[FIRST_FAILURE]),
            (every_call(trace), baselines[EVERY_CALL]),
        ):
            for claim in found:
                into[folder.names[claim.trace_id]].append(claim)
    return JudgedDataSet(labels, claims, baselines, recordings, folder.unannotated, received.refused, failures)


def score_steps(judged: Mapping[str, JudgedDataSet], *, profile: str, least: float) -> StepsEvaluation:
    """Score the claims of at least the confidence `least`, and the baselines."""
    shared = overlaps({name: data_set.recordings for name, data_set in judged.items()})
    records = rule_records({name: _paired(d.labels, d.claims) for name, d in judged.items()})
    scored = {
        CLAIMS: {name: _shown(d, least) for name, d in judged.items()},
        **{b: {name: d.baselines[b] for name, d in judged.items()} for b in (FIRST_FAILURE, EVERY_CALL)},
    }
    by_trace = {
        what: {
            name: {trace.name: trace_figures(trace, claims) for trace, claims in _paired(judged[name].labels, found)}
            for name, found in by_data_set.items()
        }
        for what, by_data_set in scored.items()
    }
    again = {(overlap.first, trace) for overlap in shared for trace in overlap.traces}
    return StepsEvaluation(
        profile=profile,
        data_sets=judged,
        figures={what: {name: total(rows.values()) for name, rows in own.items()} for what, own in by_trace.items()},
        together={
            what: total(f for name, rows in own.items() for trace, f in rows.items() if (name, trace) not in again)
            for what, own in by_trace.items()
        },
        rules=records,
        rules_elsewhere=leave_one_out(records, judged, [overlap.pair for overlap in shared]),
        overlaps=shared,
    )


def _shown(judged: JudgedDataSet, least: float) -> Mapping[str, Sequence[LocatedClaim]]:
    return {trace: [c for c in claims if c.confidence >= least] for trace, claims in judged.claims.items()}


def _paired(
    labels: StepLabels, claims: Mapping[str, Sequence[LocatedClaim]]
) -> list[tuple[LabelledTrace, Sequence[LocatedClaim]]]:
    return [(trace, claims.get(name, ())) for name, trace in labels.traces.items()]
