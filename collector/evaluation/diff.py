"""Two versions of the judges on the same labelled traces: what would change with a switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracejury.collector.otlp.files import BrokenFileError
from tracejury.collector.otlp.files.files import read_json
from tracejury.judges.agreement import Predicted
from tracejury.judges.measures.comparison import VersionComparison, compare
from tracejury.judges.measures.matching import Match
from tracejury.schemas.profiles import threshold

from .judges_json import judges_json
from .judges_options import JudgesOptions
from .judges_report import evaluate_judges
from .judges_run import Progress
from .matches import Matches, Sides
from .people import read_people
from .rebuilt import RebuiltFolder, rebuild_folder


@dataclass(frozen=True, slots=True)
class Version:
    """The answers of one version, read from a report: `findings` at any confidence.

    `traces` that it judged; `scores` by (trace, run, judge); `matches`: with annotated errors, None where nobody
    decided; `versions` of its judges.
    """

    name: str
    traces: frozenset[str]
    findings: Sequence[Predicted]
    scores: Mapping[tuple[str, str, str], int]
    matches: Matches | None
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One judge's scores of the `n` runs that both versions scored: means, and how many went which way."""

    judge: str
    n: int
    mean_a: float
    mean_b: float
    higher: int
    lower: int


@dataclass(frozen=True, slots=True)
class Difference:
    """b beside a, at one profile."""

    a: Version
    b: Version
    profile: str
    comparison: VersionComparison
    scores: tuple[ScoreChange, ...]


def judges_diff(a: str, b: str, options: JudgesOptions, progress: Progress) -> Difference:
    """Compare two versions: each a criteria set (name or folder), which is put before the model, or a stored report.

    Raises:
        BrokenFileError, PermanentError: the folder or a report does not hold what it should.
        ConfigError: as `evaluate_judges`.
    """
    least = threshold(options.profile)
    people = read_people(options.labels) if options.labels else None
    rebuilt = rebuild_folder(options.folder, limit=options.limit, people=people)
    one, two = (_version(name, options, progress) for name in (a, b))
    traces = sorted(one.traces & two.traces & rebuilt.folder.annotations.keys())
    return Difference(one, two, options.profile, _comparison(rebuilt, one, two, traces, least), _scores(one, two))


def _comparison(
    rebuilt: RebuiltFolder, a: Version, b: Version, traces: Sequence[str], least: float
) -> VersionComparison:
    errors = [e for e in rebuilt.errors if e.trace_id in set(traces)]

    def shown(version: Version) -> list[Predicted]:
        scored = (f for f in version.findings if f.trace_id in traces and rebuilt.folder.scored(f.trace_id, f.run_id))
        return [f for f in scored if f.confidence >= least]

    def decided(version: Version, found: Sequence[Predicted]) -> list[Match] | None:
        return None if version.matches is None else list(Sides(errors, found).decisions(version.matches))

    of_a, of_b = shown(a), shown(b)
    return compare(traces, errors, of_a, of_b, matches_a=decided(a, of_a), matches_b=decided(b, of_b))


def _scores(a: Version, b: Version) -> tuple[ScoreChange, ...]:
    common = a.scores.keys() & b.scores.keys()
    changes = []
    for judge in sorted({key[2] for key in common}):
        pairs = [(a.scores[key], b.scores[key]) for key in common if key[2] == judge]
        changes.append(
            ScoreChange(
                judge=judge,
                n=len(pairs),
                mean_a=sum(one for one, _ in pairs) / len(pairs),
                mean_b=sum(two for _, two in pairs) / len(pairs),
                higher=sum(two > one for one, two in pairs),
                lower=sum(two < one for one, two in pairs),
            )
        )
    return tuple(changes)


def _version(name: str, options: JudgesOptions, progress: Progress) -> Version:
    path = Path(name)
    if path.is_file():
        return read_version(name, read_json(path))
    asked = replace(options, llm=options.llm.model_copy(update={"criteria": name}), detectors=False)
    return read_version(name, judges_json(evaluate_judges(asked, progress)))


def read_version(name: str, report: Any) -> Version:
    """From the JSON of a report; of several runs the first.

    Raises:
        BrokenFileError: it is no such report.
    """
    try:
        results = [result for result in report["results"] if result["repetition"] == 0]
        runs = [(result["trace"], run) for result in results for run in result["runs"]]
        matches = report["matches"]
        return Version(
            name=name,
            traces=frozenset(result["trace"] for result in results),
            findings=[_predicted(trace, str(run["run"]), f) for trace, run in runs for f in run["findings"]],
            scores={
                (trace, run["run"], v["judge"]): int(v["score"])
                for trace, run in runs
                for v in run["verdicts"]
                if v["score"] is not None
            },
            matches=None
            if matches is None
            else {trace: frozenset((int(e), str(f)) for e, f in pairs) for trace, pairs in matches.items()},
            versions=dict(report["asked"]["versions"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenFileError(f"{name} is no report of judges ({type(error).__name__}: {error})"[:200]) from None


def _predicted(trace: str, run_id: str, f: Mapping[str, Any]) -> Predicted:
    return Predicted(
        trace_id=trace,
        span_id=str(f["span_id"]),
        category=str(f["category"]),
        judge=str(f["judge"]),
        confidence=float(f["confidence"]),
        dimensions=tuple(map(str, f["dimensions"])),
        severity=str(f["severity"]),
        elsewhere=tuple(map(str, f["elsewhere"])),
        run_id=run_id,
        id=str(f["id"]),
    )
