"""A token report as JSON for programs and as a table for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from ...schemas.text.terminal import one_line
from .plain import plain
from .tables import grid
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
        "totals": {name: sum(map(of, report.traces)) for name, of in _columns(report).items()},
        "per_trace": [plain(trace) for trace in report.traces],
    }


def token_tables(report: TokenReport) -> RenderableType:
    """Totals and what a trace takes in the middle and at most; then the ratios that are aimed at."""
    title = f"{len(report.traces)} traces, criteria {report.criteria}, tokens of {report.tokenizer}"
    table = grid("input tokens", "all", "a trace", "median", "most")
    for name, of in _columns(report).items():
        values = [of(trace) for trace in report.traces] or [0]
        row = (sum(values), sum(values) / len(values), median(values), max(values))
        table.add_row(Text(one_line(name, 80)), *(f"{value:,.0f}" for value in row))
    return Group(Text(title), table, *map(Text, _ratios(report)))


def _ratios(report: TokenReport) -> Iterator[str]:
    yield (
        f"panel / {PAPER_CALLS} calls on the paper's preprocessing: {report.panel_ratio:.3f} "
        f"(goal: at most {PANEL_GOAL}); without the prefix cache's part {report.panel_uncached_ratio:.3f}"
    )
    yield (
        f"streaming without the prefix cache's part / one closing call: {report.streaming_ratio:.3f} "
        f"(goal: at most {STREAMING_GOAL})"
    )


def _columns(report: TokenReport) -> dict[str, Callable[[TraceTokens], int]]:
    columns: dict[str, Callable[[TraceTokens], int]] = {
        "raw": lambda t: t.raw,
        "paper's preprocessing, one call": lambda t: t.paper,
        f"paper's preprocessing, {PAPER_CALLS} calls": lambda t: PAPER_CALLS * t.paper,
    }
    modes: dict[str, Callable[[TraceTokens], Sent]] = {
        "panel": lambda t: t.panel,
        "separate": lambda t: t.separate,
        "streaming": lambda t: t.streaming,
    }
    for name, sent in modes.items():
        columns |= _mode(name, sent)
    for name in _architectures(report.traces):
        columns[f"panel, architecture {name}"] = lambda t, name=name: t.ablation[name].total  # type: ignore[misc]
    return columns


def _mode(name: str, sent: Callable[[TraceTokens], Sent]) -> dict[str, Callable[[TraceTokens], int]]:
    return {
        name: lambda t: sent(t).total,
        f"{name}, calls": lambda t: sent(t).calls,
        f"{name}, closing": lambda t: sent(t).tokens.get(CLOSING, 0),
        f"{name}, not from the prefix cache": lambda t: sent(t).uncached,
        f"{name}, answer schemas beside it": lambda t: sent(t).schemas,
    }


def _architectures(traces: Iterable[TraceTokens]) -> list[str]:
    return list(next(iter(traces)).ablation) if traces else []
