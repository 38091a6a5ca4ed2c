"""An evaluation of LLM judges as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.judges.measures.dimension_labels import PAPER_COUNTS, PAPER_SERVICE
from tracejury.judges.measures.judge_agreement import ALL
from tracejury.judges.measures.kappa import Kappa
from tracejury.schemas.text.terminal import one_line

from .confusion_tables import confusion_tables
from .judges_report import Answered, JudgesReport, ScoredRepetition
from .report import HEADLINES
from .spend import Usage
from .tables import INTERVAL, Column, cell, grid, listed
from .verification_figures import elsewhere


def judges_tables(report: JudgesReport) -> RenderableType:
    """The report for people."""
    return Group(*_parts(report))


def _parts(report: JudgesReport) -> Iterator[RenderableType]:
    first = report.repetitions[0]
    yield _title(report)
    yield _spans(report)
    yield Text(report.agreement.all.note)
    yield from _agreement(report)
    if report.agreement.kappa is not None:
        yield Text(_kappa(report.agreement.kappa))
    if report.scales:
        yield listed("beside people's scores", SCALES, ((row.judge, row) for row in report.scales))
    if report.outcomes:
        yield listed("scores beside outcomes", OUTCOMES, ((row.judge, row) for row in report.outcomes))
    if report.repeatability:
        yield listed(f"over {report.options.runs} runs", REPEATABILITY, report.repeatability.items())
    if report.baseline or len(report.repetitions) > 1:
        yield _others(report)
    yield from _beside(report)
    if report.verification:
        yield listed("verification", VERIFICATION, report.verification.items())
    if report.decisive:
        yield listed("decisive error", DECIDED, report.decisive.items())
    yield _spend(report, first.spend)
    yield from _notes(report, first.answered)


def _title(report: JudgesReport) -> Text:
    options, panel = report.options, report.sessions.panel
    how = [
        f"criteria {panel.criteria.name}",
        f"model {report.sessions.models[0]}",
        options.llm.mode,
        "streaming" if options.llm.streaming else "finished runs",
        f"architecture {options.architecture}",
        "hints" if options.llm.hints else "no hints",
        f"profile {options.profile}",
    ]
    traces = f"{len(report.rebuilt.traces)} traces, {len(report.rebuilt.errors)} annotated errors"
    return Text(one_line(f"{traces}; {', '.join(how)}"))


COVERAGE: Final[tuple[Column, ...]] = (
    "errors",
    ("caught", "caught_share"),
    (INTERVAL, "intervals.caught"),
    ("localised", "localised_share"),
    (INTERVAL, "intervals.localised"),
    ("named anywhere", "nearby_share"),
)
PRECISION: Final[tuple[Column, ...]] = (
    "severity",
    "findings",
    ("on annotated spans", "precision"),
    (INTERVAL, "intervals.on_span"),
    ("matched", "matched_precision"),
)
VERIFICATION: Final[tuple[Column, ...]] = (
    "findings",
    ("on annotated spans", "on_span"),
    ("elsewhere", elsewhere),
    ("share on them", "precision"),
    (INTERVAL, "intervals.on_span"),
    ("matched", "matched"),
)
DECIDED: Final[tuple[Column, ...]] = (
    "traces",
    ("step", "step_accuracy"),
    (INTERVAL, "intervals.step_accuracy"),
    ("agent", "agent_accuracy"),
    (INTERVAL, "intervals.agent_accuracy"),
    ("cannot tell", "open"),
    "unanswered",
)
SCALES: Final[tuple[Column, ...]] = (
    *("n", "points", "accuracy", "off_by_one", "three_point", "two_point", "pearson", "spearman"),
    *("normalised_mae", "three_point_mae", "bias"),
    ("people's alpha", "people.alpha"),
)
OUTCOMES: Final[tuple[Column, ...]] = (
    ("traces", "n"),
    ("Pearson (point-biserial)", "pearson"),
    (INTERVAL, "intervals.pearson"),
    ("Spearman", "spearman"),
    (INTERVAL, "intervals.spearman"),
    ("no figure because", "reason"),
)
REPEATABILITY: Final[tuple[Column, ...]] = (
    ("alpha", "scores.alpha.alpha"),
    (INTERVAL, "scores.alpha.interval"),
    ("traces", "scores.alpha.units"),
    ("mean sd", "scores.spread.mean"),
    (INTERVAL, "scores.spread.interval"),
    ("reasons alike", "reasons.index"),
    ("runs", "reasons.subjects"),
)
SPEND: Final[tuple[Column, ...]] = (
    ("calls", lambda row: f"{row[0].calls:,}"),
    ("failed", lambda row: f"{row[0].failed:,}"),
    ("known", lambda row: f"{row[0].known:,}"),
    ("input tokens", lambda row: f"{row[0].input_tokens:,}"),
    ("cached", lambda row: f"{row[0].cached_tokens:,}"),
    ("output tokens", lambda row: f"{row[0].output_tokens:,}"),
    ("USD", lambda row: _usd(row[0])),
    ("tokens a trace", lambda row: _per_trace(*row)),
)


def _spans(report: JudgesReport) -> RenderableType:
    agreements = {source: e.agreement for source, e in report.sources.items()}
    rows = {
        label: {source: (getattr(a.all, key), a.intervals.get(key)) for source, a in agreements.items()}
        for key, label in HEADLINES.items()
    }
    rows["localised, valid"] = {
        source: (a.valid.localised, a.valid_intervals.get("localised")) for source, a in agreements.items()
    }
    table = grid("over spans", *(header for source in agreements for header in (source, INTERVAL)))
    for label, by_source in rows.items():
        cells = (c for value, around in by_source.values() for c in (cell(value), cell(around, interval=True)))
        table.add_row(label, *cells)
    return table


def _agreement(report: JudgesReport) -> Iterator[RenderableType]:
    agreement = report.agreement.all
    counts: list[Column] = ["errors"]
    if {trace.service for trace in report.rebuilt.traces} == {PAPER_SERVICE}:
        counts.append(("paper's labels (of 289)", lambda row: PAPER_COUNTS.get(row.dimension, "")))
    yield listed("dimension", counts, ((f"{d.dimension} {d.judge}", d) for d in agreement.dimensions))
    yield from confusion_tables(agreement)
    yield listed("coverage", COVERAGE, ((row.impact, row) for row in agreement.coverage))
    yield listed("coverage, valid", COVERAGE, ((row.impact, row) for row in report.agreement.valid.coverage))
    precision = ((row.judge if row.severity == ALL else "", row) for row in report.agreement.precision)
    yield listed("precision over findings", PRECISION, precision)


def _kappa(kappa: Kappa) -> str:
    if kappa.kappa is None:
        return f"matcher and people: no kappa, {kappa.reason}"
    interval = cell(kappa.interval, interval=True)
    return f"matcher and people: kappa {kappa.kappa:.3f} ({interval}) over {kappa.n} pairs"


def _others(report: JudgesReport) -> RenderableType:
    """Each repetition, then each baseline."""
    judged: dict[str, ScoredRepetition] = {f"run {n}": one for n, one in enumerate(report.repetitions, start=1)}
    judged |= {f"baseline {name.replace('-', ' ')}": one for name, one in report.baseline.items()}
    rows = {
        name: {label: getattr(one.evaluation.agreement.all, key) for key, label in HEADLINES.items()}
        | {
            "localised, valid": one.evaluation.agreement.valid.localised,
            "unscored": one.answered.unscored.total(),
            "input tokens a trace": _per_trace(_sum(one.spend), len(report.rebuilt.traces)),
        }
        for name, one in judged.items()
    }
    return listed("each", rows["run 1"], rows.items())


def _beside(report: JudgesReport) -> Iterator[RenderableType]:
    """What all judges caught, and what one did with one call a trace."""
    shown = {f"baseline {name.replace('-', ' ')}": a for name, b in report.baseline.items() if (a := b.agreement)}
    if shown:
        both = {"judges": report.agreement, **shown}
        rows = ((name if row.impact == ALL else "", row) for name, own in both.items() for row in own.all.coverage)
        yield listed("coverage beside one judge", ("impact", *COVERAGE), rows)


def _spend(report: JudgesReport, judging: Mapping[str, Usage]) -> RenderableType:
    """Of the first run, by purpose; then what was asked beside it."""
    rows = {**judging, "judging a run": _sum(judging)}
    if report.options.adjudicate:
        rows["matching"] = report.sessions.adjudication
    rows |= {f"baseline {name.replace('-', ' ')}": _sum(one.spend) for name, one in report.baseline.items()}
    traces = len(report.rebuilt.traces)
    return listed("spent", SPEND, ((name, (spend, traces)) for name, spend in rows.items()))


def _usd(spend: Usage) -> str:
    return f"{spend.usd:.4f}" + (f" + {spend.unpriced} calls without a price" if spend.unpriced else "")


def _per_trace(spend: Usage, traces: int) -> str:
    return f"{spend.input_tokens / max(traces, 1):,.0f}"


def _sum(spends: Mapping[str, Usage]) -> Usage:
    return sum(spends.values(), Usage())


def _notes(report: JudgesReport, answered: Answered) -> Iterator[RenderableType]:
    for told, counts in (
        ("unscored", answered.unscored),
        ("not applicable", answered.not_applicable),
        ("claims dropped", answered.dropped),
    ):
        if counts:
            named = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
            yield Text(one_line(f"{told}: {named} (beside {answered.scored} scores)", 400))
    for why, count in sorted(answered.failures.items(), key=lambda item: -item[1])[:5]:
        yield Text(one_line(f"{count} unscored: {why}", 200))
    if answered.lost:
        yield Text(f"{answered.lost} windows or plans had no answer")
    if report.unadjudicated:
        yield Text(f"{report.unadjudicated} traces were not wholly matched: a call had no answer")
    if not report.outcomes:
        yield Text("scores are not held against outcomes: no annotation has an `outcome` or an overall score")
    if report.rebuilt.gold.defaulted:
        yield Text(f"{report.rebuilt.gold.defaulted} errors without labels have the dimensions of their category")
    yield from (Text(one_line(trouble, 200)) for trouble in report.sessions.troubles)
    reasons = [row.reasons for row in report.repeatability.values()]
    compared = {own.reason or f"reasons are compared by {own.embedder}" for own in reasons}
    yield from (Text(one_line(line, 200)) for line in sorted(compared))
