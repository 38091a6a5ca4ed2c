"""`tracejury evaluate models DIR CASSETTE ...`: several models' judges beside each other, replayed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.collector.judging.model.cassette import Cassette, CassetteOptions
from tracejury.judges.measures.confusion import Confusion
from tracejury.judges.measures.judge_agreement import ALL, CoverageRow
from tracejury.judges.measures.outcome_correlation import OutcomeCorrelation
from tracejury.judges.measures.scales import ScaleAgreement
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.terminal import one_line

from .confusion_tables import every_judge
from .judges_options import JudgesOptions
from .judges_report import Answered, JudgesReport, evaluate_judges
from .judges_run import Progress
from .judges_tables import SCALES
from .people import read_people
from .plain import plain
from .rebuilt import RebuiltFolder, rebuild_folder
from .score import DetectorEvaluation
from .spend import Usage
from .tables import INTERVAL, Column, listed

CONSISTENCY = "logical-consistency"


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model on one cassette. `coverage`: of all errors; `caught`, `localised`: all judges' counts together.

    `consistency`: logical consistency beside the traces' outcomes; None where none is known. `scales`: each judge's
    scores beside people's, none without any.
    """

    model: str
    cassette: str
    answered: Answered
    coverage: CoverageRow
    caught: Confusion
    localised: Confusion
    spans: DetectorEvaluation
    consistency: OutcomeCorrelation | None
    scales: Sequence[ScaleAgreement]
    spent: Usage
    traces: int


@dataclass(frozen=True, slots=True)
class ModelsReport:
    """`silent`: a line for each model on a cassette that has no score for these prompts."""

    rows: tuple[ModelRow, ...]
    silent: tuple[str, ...]


def compare_models(options: JudgesOptions, cassettes: Sequence[Path], progress: Progress) -> ModelsReport:
    """Replay each model of each cassette with the same options.

    Raises:
        ConfigError: a cassette or the judges cannot be used, or no cassette has a score for these prompts.
    """
    progress("reading", 0, 0)
    people = read_people(options.labels) if options.labels else None
    rebuilt = rebuild_folder(options.folder, limit=options.limit, people=people)
    rows: list[ModelRow] = []
    silent: list[str] = []
    for path in cassettes:
        with Cassette(path, record=False) as cassette:
            models = list(dict.fromkeys(about.model for about in cassette.about))
        for model in models:
            llm = options.llm.model_copy(update={"model": model})
            asked = replace(options, llm=llm, cassette=CassetteOptions(path, "replay"), detectors=False)
            row = _row(evaluate_judges(asked, progress, rebuilt), rebuilt, path)
            if row.answered.scored:
                rows.append(row)
            else:
                silent.append(f"{path}: {model} has no score for these prompts")
    if not rows:
        raise ConfigError("; ".join(silent) or "no cassette has a call: judge the folder with --cassette first")
    return ModelsReport(tuple(rows), tuple(silent))


def _row(report: JudgesReport, rebuilt: RebuiltFolder, path: Path) -> ModelRow:
    every = every_judge(report.agreement.all.judges)
    first = report.repetitions[0]
    return ModelRow(
        model=report.sessions.models[0],
        cassette=str(path),
        answered=first.answered,
        coverage=next(row for row in report.agreement.all.coverage if row.impact == ALL),
        caught=every.caught if every else Confusion(),
        localised=every.localised if every else Confusion(),
        spans=first.evaluation,
        consistency=next((row for row in report.outcomes if row.judge == CONSISTENCY), None),
        scales=report.scales,
        spent=sum(first.spend.values(), Usage()),
        traces=len(rebuilt.traces),
    )


def models_json(report: ModelsReport) -> dict[str, Any]:
    """The rows, whole."""
    return {"models": [_plain(row) for row in report.rows], "silent": list(report.silent)}


def _plain(row: ModelRow) -> Mapping[str, Any]:
    agreement = row.spans.agreement
    spans = {"findings": row.spans.findings, **plain(agreement.all), "intervals": plain(agreement.intervals)}
    told = (
        *(
            "model",
            "cassette",
            "answered",
            "coverage",
            "caught",
            "localised",
            "consistency",
            "scales",
            "spent",
            "traces",
        ),
    )
    return {**{name: plain(getattr(row, name)) for name in told}, "spans": spans}


def models_tables(report: ModelsReport) -> RenderableType:
    """A row a model: what it found, and the figures of the paper's two tables over all judges."""
    return Group(*_parts(report))


def _parts(report: ModelsReport) -> Iterator[RenderableType]:
    yield listed("model", COLUMNS, ((row.model, row) for row in report.rows))
    for what in ("caught", "localised"):
        yield listed(f"all judges, {what}", _figures(what), ((row.model, row) for row in report.rows))
    if scales := [(f"{row.model} {own.judge}", own) for row in report.rows for own in row.scales]:
        yield listed("beside people's scores", SCALES, scales)
    yield from (Text(one_line(line, 200)) for line in report.silent)


COLUMNS: tuple[Column, ...] = (
    ("scores", "answered.scored"),
    ("unscored", lambda row: row.answered.unscored.total()),
    ("errors", "coverage.errors"),
    ("caught", "coverage.caught_share"),
    (INTERVAL, "coverage.intervals.caught"),
    ("localised", "coverage.localised_share"),
    (INTERVAL, "coverage.intervals.localised"),
    ("span precision", "spans.agreement.all.span_precision"),
    (INTERVAL, "spans.agreement.intervals.span_precision"),
    ("LC and outcome", lambda row: row.consistency.spearman if row.consistency else None),
    ("input tokens a trace", lambda row: f"{row.spent.input_tokens / max(row.traces, 1):,.0f}"),
    ("USD", lambda row: f"{row.spent.usd:.4f}" + (f" + {row.spent.unpriced} calls" if row.spent.unpriced else "")),
)


def _figures(what: str) -> tuple[Column, ...]:
    names = {"P": "precision", "R": "recall", "F1": "f1", "F2": "f2", "accuracy": "accuracy"}
    return tuple((header, f"{what}.{name}") for header, name in names.items())
