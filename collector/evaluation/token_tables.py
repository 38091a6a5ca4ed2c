"""A token report as JSON for programs and as a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import mean, median
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from .plain import plain
from .tables import Column, listed
from .token_report import CLOSING, PAPER_CALLS, Sent, TokenReport, TraceTokens

PANEL_GOAL: Final = 0.15
STREAMING_GOAL: Final = 1.3


def token_json(report: TokenReport) -> dict[str, Any]:
    """Totals and ratios, then trace by trace."""
    return {
        "criteria": report.criteria,
        "tokenizer": report.tokenizer,
        "architecture": report.architecture,
        "traces": len(report.traces),
        "panel_ratio": report.panel_ratio,
        "panel_uncached_ratio": report.panel_uncached_ratio,
        "streaming_ratio": report.streaming_ratio,
        "checked_ratio": report.checked_ratio,
        "totals": {name: sum(values) for name, values in _figures(report.traces).items()},
        "per_trace": [plain(trace) for trace in report.traces],
    }


def token_tables(report: TokenReport) -> RenderableType:
    """Totals and what a trace takes in the middle and at most; then the ratios that are aimed at."""
    title = f"{len(report.traces)} traces, criteria {report.criteria}, tokens of {report.tokenizer}"
    table = listed("input tokens", COLUMNS, _figures(report.traces).items(), most=80)
    return Group(Text(title), table, *map(Text, _ratios(report)))


COLUMNS: Final[tuple[Column, ...]] = (
    ("all", lambda values: f"{sum(values):,}"),
    ("a trace", lambda values: f"{mean(values):,.0f}"),
    ("median", lambda values: f"{median(values):,.0f}"),
    ("most", lambda values: f"{max(values):,}"),
)


def _ratios(report: TokenReport) -> Iterator[str]:
    yield (
        f"panel / {PAPER_CALLS} calls on the paper's preprocessing: {report.panel_ratio:.3f} "
        f"(goal: at most {PANEL_GOAL}); without the prefix cache's part {report.panel_uncached_ratio:.3f}; with the "
        f"question about detectors' errors {report.checked_ratio:.3f}"
    )
    yield (
        f"streaming without the prefix cache's part / one closing call: {report.streaming_ratio:.3f} "
        f"(goal: at most {STREAMING_GOAL})"
    )


def _figures(traces: Iterable[TraceTokens]) -> dict[str, list[int]]:
    """Each figure's values, one a trace."""
    rows = [_row(trace) for trace in traces] or [_row(NO_TRACE)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _row(trace: TraceTokens) -> dict[str, int]:
    row = {
        "raw": trace.raw,
        "paper's preprocessing, one call": trace.paper,
        f"paper's preprocessing, {PAPER_CALLS} calls": PAPER_CALLS * trace.paper,
    }
    sets = {
        "panel": trace.panel,
        "separate": trace.separate,
        "streaming": trace.streaming,
        "panel, detectors checked": trace.checked,
    }
    for name, sent in sets.items():
        row |= {
            name: sent.total,
            f"{name}, calls": sent.calls,
            f"{name}, closing": sent.tokens.get(CLOSING, 0),
            f"{name}, not from the prefix cache": sent.uncached,
            f"{name}, answer schemas beside it": sent.schemas,
        }
    return row | {f"panel, architecture {name}": sent.total for name, sent in trace.ablation.items()}


NOTHING: Final = Sent(0, {}, 0, 0)
NO_TRACE: Final = TraceTokens("", 0, 0, NOTHING, NOTHING, NOTHING, NOTHING, {})
