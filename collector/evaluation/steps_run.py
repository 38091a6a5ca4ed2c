"""`tracejury evaluate steps`: judge folders of traces with labelled steps, and score what is told of them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from tracejury.judges.measures.located_claim import LocatedClaim, error_claims
from tracejury.judges.measures.rule_cases import RuleCase, rule_cases
from tracejury.judges.measures.rule_records import RuleRecords, leave_one_out, rule_records
from tracejury.judges.measures.step_figures import LabelledTrace, StepFigures, total, trace_figures
from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.normalized import Kind
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import Trace

from .folder import load
from .steps_baselines import EVERY_CALL, FIRST_FAILURE, every_call, first_failure
from .steps_labels import StepLabels, step_labels

CLAIMS = "claims"
"""What is scored beside the baselines: the errors that the profile shows."""

TOGETHER = "all"
"""The name of all data sets as one."""

Told = TypeVar("Told", LocatedClaim, RuleCase)

TraceClaims = Mapping[str, Sequence[LocatedClaim]]
"""By name of the trace."""

Progress = Callable[[str, int, int], None]

LEAST = 100
"""Characters of a reply that no two runs are taken to write alike."""


@dataclass(frozen=True, slots=True)
class JudgedDataSet:
    """The labels of one folder and the claims in its labelled traces, by name of the trace.

    `claims` by CLAIMS, those that the profile shows, and by the names of the baselines; `cases` are those of all rules,
    whatever their confidence. `recordings`: the marks of each labelled trace. `refused`: spans or log records that the
    receiver refused. `failures`: detectors that failed, and why.
    """

    labels: StepLabels
    claims: Mapping[str, TraceClaims]
    cases: Mapping[str, Sequence[RuleCase]]
    recordings: Mapping[str, frozenset[str]]
    unannotated: int
    refused: int
    failures: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StepsEvaluation:
    """The report of `evaluate steps`.

    `figures`: by CLAIMS or the name of a baseline, then by data set. `together`: of all data sets as one, in which a
    run that several hold counts once, with the labels of the last. `rules` and `rules_elsewhere`: the record of each
    rule in each data set, and over the others, of all its cases, whatever their confidence.
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
        ConfigError: no such profile, or names of folders that say nothing: two alike, or "all".
    """
    least = threshold(profile)
    folders: dict[str, Path] = {}
    for path in paths:
        name = path.resolve().name
        if name in folders:
            raise ConfigError(f"two data sets are named {name}: {folders[name]} and {path}; rename one of the folders")
        if name == TOGETHER:
            raise ConfigError(f'a data set cannot be named "{TOGETHER}", as all together are: rename {path}')
        folders[name] = path
    suite = default_suite()
    judged = {name: judge_data_set(name, path, suite, least, progress) for name, path in folders.items()}
    return score_steps(judged, profile)


def judge_data_set(name: str, path: Path, suite: Suite, least: float, progress: Progress) -> JudgedDataSet:
    """Judge one folder, for readers who ask for a confidence of at least `least`."""
    folder = load(path, lambda done, of: progress(f"reading {name}", done, of))
    labels = step_labels(path, folder)
    cases: defaultdict[str, list[RuleCase]] = defaultdict(list)
    claims = {what: defaultdict[str, list[LocatedClaim]](list) for what in (CLAIMS, FIRST_FAILURE, EVERY_CALL)}
    failures: dict[str, str] = {}
    recordings: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    rebuilt = folder.received.traces()
    for done, trace in enumerate(rebuilt):
        progress(f"judging {name}", done, len(rebuilt))
        result = suite.judge(trace)
        failures.update(result.failures)
        if (file := folder.names[trace.trace_id]) in labels.traces:
            recordings[file] |= marks(trace)
        for case in rule_cases(trace, result.findings):
            cases[folder.names[case.trace_id]].append(case)
        for found, into in (
            (error_claims(trace, result.findings, least), claims[CLAIMS]),
            (first_failure(trace), claims[FIRST_FAILURE]),
            (every_call(trace), claims[EVERY_CALL]),
        ):
            for claim in found:
                into[folder.names[claim.trace_id]].append(claim)
    return JudgedDataSet(labels, claims, cases, recordings, folder.unannotated, folder.received.refused, failures)


def score_steps(judged: Mapping[str, JudgedDataSet], profile: str) -> StepsEvaluation:
    """Score the claims against the labels, in each data set and together."""
    shared = overlaps({name: data_set.recordings for name, data_set in judged.items()})
    records = rule_records({name: _paired(d.labels, d.cases) for name, d in judged.items()})
    by_trace = {
        what: {
            name: {trace.name: trace_figures(trace, claims) for trace, claims in _paired(d.labels, d.claims[what])}
            for name, d in judged.items()
        }
        for what in (CLAIMS, FIRST_FAILURE, EVERY_CALL)
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


def _paired(labels: StepLabels, told: Mapping[str, Sequence[Told]]) -> list[tuple[LabelledTrace, Sequence[Told]]]:
    return [(trace, told.get(name, ())) for name, trace in labels.traces.items()]


@dataclass(frozen=True, slots=True)
class DataSetOverlap:
    """`traces`, names of traces of `first`, are recordings of runs that `second` holds, too."""

    first: str
    second: str
    traces: tuple[str, ...]

    @property
    def pair(self) -> frozenset[str]:
        """Both names."""
        return frozenset({self.first, self.second})


def marks(trace: Trace) -> frozenset[str]:
    """By these the recording of a run is known again: its trace ids, and the longest text that a model wrote in it."""
    replies = (" ".join(s.output.split()) for s in trace.spans.values() if s.kind is Kind.LLM)
    longest = max(replies, key=lambda reply: (len(reply), reply), default="")
    digest = hashlib.blake2b(longest.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return frozenset([*trace.trace_ids, *([f"reply {digest}"] if len(longest) >= LEAST else [])])


def overlaps(data_sets: Mapping[str, Mapping[str, frozenset[str]]]) -> tuple[DataSetOverlap, ...]:
    """Pairs of data sets with runs in common; `data_sets`: the marks of each trace, by data set and name."""
    everything = {name: frozenset[str]().union(*traces.values()) for name, traces in data_sets.items()}
    found = (
        DataSetOverlap(a, b, tuple(name for name, own in data_sets[a].items() if own & everything[b]))
        for a, b in combinations(data_sets, 2)
    )
    return tuple(overlap for overlap in found if overlap.traces)
