"""An evaluation of LLM judges as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from ...judges.bootstrap import Interval
from ...judges.measures.judge_agreement import ALL, CoverageRow
from ...judges.measures.kappa import Kappa
from ...schemas.text.terminal import one_line
from .judges_report import Answered, Judged, JudgesReport
from .report import HEADLINES, grid
from .spend import Spend


def judges_tables(report: JudgesReport) -> RenderableType:
    """The report for people."""
    return Group(*_parts(report))


def _parts(report: JudgesReport) -> Iterator[RenderableType]:
    first = report.repetitions[0]
    yield _title(report)
    yield _spans(report)
    yield Text(report.agreement.all.note)
    yield from _agreement(report)
    yield _precision(report)
    if report.agreement.kappa is not None:
        yield Text(_kappa(report.agreement.kappa))
    if report.scales:
        yield _scales(report)
    if report.repeatability:
        yield _repeatability(report)
    if report.baseline or len(report.repetitions) > 1:
        yield _others(report)
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


def _spans(report: JudgesReport) -> RenderableType:
    table = grid("over spans", *(name for source in report.sources for name in (source, "95%")))
    for key, label in HEADLINES.items():
        cells = [
            cell
            for e in report.sources.values()
            for cell in (_number(getattr(e.agreement.all, key)), _interval(e.agreement.intervals.get(key)))
        ]
        table.add_row(label, *cells)
    valid = (_number(e.agreement.valid.localised) for e in report.sources.values())
    around = (_interval(e.agreement.valid_intervals.get("localised")) for e in report.sources.values())
    table.add_row("localised, valid", *(cell for pair in zip(valid, around, strict=True) for cell in pair))
    return table


def _agreement(report: JudgesReport) -> Iterator[RenderableType]:
    agreement = report.agreement.all
    counts = grid("dimension", "errors", "paper's labels (of 289)")
    for row in agreement.dimensions:
        counts.add_row(f"{row.dimension} {row.judge}", str(row.errors), "" if row.paper is None else str(row.paper))
    yield counts
    table = grid(
        "judge", "impact", "errors", "tp", "fp", "fn", "tn", "P", "R", "F1", "F2", "accuracy", "localised R", "F1"
    )
    for judge in agreement.judges:
        if not judge.mapped and not judge.caught.fp:
            continue
        c, at = judge.caught, judge.localised
        table.add_row(
            Text(one_line(judge.judge, 60)) if judge.impact == ALL else "",
            judge.impact,
            str(judge.mapped),
            *map(str, (c.tp, c.fp, c.fn, c.tn)),
            *map(_number, (c.precision, c.recall, c.f1, c.f2, c.accuracy, at.recall, at.f1)),
        )
    yield table
    yield _coverage("coverage", agreement.coverage)
    yield _coverage("coverage, valid", report.agreement.valid.coverage)


def _coverage(title: str, rows: tuple[CoverageRow, ...]) -> RenderableType:
    table = grid(title, "errors", "caught", "95%", "localised", "95%", "named anywhere")
    for row in rows:
        table.add_row(
            row.impact,
            str(row.errors),
            _number(row.caught_share),
            _interval(row.intervals.get("caught")),
            _number(row.localised_share),
            _interval(row.intervals.get("localised")),
            _number(row.nearby_share),
        )
    return table


def _precision(report: JudgesReport) -> RenderableType:
    table = grid("precision over findings", "severity", "findings", "on annotated spans", "95%", "matched")
    for row in report.agreement.precision:
        table.add_row(
            Text(one_line(row.judge, 60)) if row.severity == ALL else "",
            row.severity,
            str(row.findings),
            _number(row.precision),
            _interval(row.intervals.get("on_span")),
            _number(row.matched_precision),
        )
    return table


def _kappa(kappa: Kappa) -> str:
    if kappa.kappa is None:
        return f"matcher and people: no kappa, {kappa.reason}"
    return f"matcher and people: kappa {kappa.kappa:.3f} ({_interval(kappa.interval)}) over {kappa.n} pairs"


def _scales(report: JudgesReport) -> RenderableType:
    names = ("accuracy", "off_by_one", "three_point", "two_point", "pearson", "spearman", "normalised_mae", "bias")
    table = grid("beside people's scores", "n", *(name.replace("_", " ") for name in names), "people's alpha")
    for row in report.scales:
        figures = (_number(getattr(row, name)) for name in names)
        table.add_row(Text(one_line(row.judge, 60)), str(row.n), *figures, _number(row.people.alpha))
    return table


def _repeatability(report: JudgesReport) -> RenderableType:
    table = grid(
        f"over {report.options.runs} runs", "alpha", "95%", "traces", "mean sd", "95%", "reasons alike", "runs"
    )
    for judge, row in report.repeatability.items():
        alpha, spread, reasons = row.scores.alpha, row.scores.spread, row.reasons
        table.add_row(
            Text(one_line(judge, 60)),
            _number(alpha.alpha),
            _interval(alpha.interval),
            str(alpha.units),
            _number(spread.mean),
            _interval(spread.interval),
            _number(reasons.index),
            str(reasons.subjects),
        )
    return table


def _others(report: JudgesReport) -> RenderableType:
    judged: dict[str, Judged] = {f"run {n}": one for n, one in enumerate(report.repetitions, start=1)}
    judged |= {f"baseline {name.replace('-', ' ')}": one for name, one in report.baseline.items()}
    table = grid("each", *HEADLINES.values(), "localised, valid", "unscored", "input tokens a trace")
    for name, one in judged.items():
        a, tokens = one.evaluation.agreement, sum(s.input_tokens for s in one.spend.values())
        table.add_row(
            name,
            *(_number(getattr(a.all, key)) for key in HEADLINES),
            _number(a.valid.localised),
            str(sum(one.answered.unscored.values())),
            f"{tokens / max(len(report.rebuilt.traces), 1):,.0f}",
        )
    return table


def _spend(report: JudgesReport, judging: Mapping[str, Spend]) -> RenderableType:
    """Of the first run, by purpose; then what was asked beside it."""
    rows = {**judging, "judging a run": _sum(judging)}
    if report.options.adjudicate:
        rows["matching"] = report.sessions.adjudication
    rows |= {f"baseline {name.replace('-', ' ')}": _sum(one.spend) for name, one in report.baseline.items()}
    table = grid(
        "spent", "calls", "failed", "known", "input tokens", "cached", "output tokens", "USD", "tokens a trace"
    )
    for name, s in rows.items():
        usd = f"{s.usd:.4f}" + (f" + {s.unpriced} calls without a price" if s.unpriced else "")
        counts = (s.calls, s.failed, s.known, s.input_tokens, s.cached_tokens, s.output_tokens)
        per_trace = s.input_tokens / max(len(report.rebuilt.traces), 1)
        table.add_row(name, *(f"{n:,}" for n in counts), usd, f"{per_trace:,.0f}")
    return table


def _sum(spends: Mapping[str, Spend]) -> Spend:
    return sum(spends.values(), Spend())


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
    if report.rebuilt.gold.defaulted:
        yield Text(f"{report.rebuilt.gold.defaulted} errors without labels have the dimensions of their category")
    yield from (Text(one_line(trouble, 200)) for trouble in report.sessions.troubles)
    absent = {row.reasons.reason for row in report.repeatability.values() if row.reasons.reason}
    yield from (Text(one_line(reason, 200)) for reason in sorted(absent))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else "{:.3f} to {:.3f}".format(*interval)
