"""Compared traces for people. Their words are made of texts of spans: plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tracejury.schemas.text.counting import counted
from tracejury.schemas.wire.divergence import ComparedRunsJson, ComparedTracesJson, TraceStepJson

from .tables import content

_TEXT: Final = 160


def traces_view(found: ComparedTracesJson) -> RenderableType:
    """The first difference, and the steps of both in two columns."""
    return Group(*_of_traces(found))


def runs_view(found: ComparedRunsJson) -> RenderableType:
    """Who passes, and where failing runs part."""
    return Group(*_of_runs(found))


def _of_traces(found: ComparedTracesJson) -> Iterator[RenderableType]:
    if found.divergence is None:
        yield Text(f"no difference in {counted(found.at, 'step')} but ids, times and wording", "bold")
    else:
        yield Text.assemble((f"step {found.at + 1}: {found.divergence.difference}", "bold yellow"))
        for name, step in (("A", found.divergence.first), ("B", found.divergence.second)):
            yield Text.assemble(f"{name}  ", _step(step), "  span ", content((step and step.span_id) or "-"))
    if found.first.asked != found.second.asked:
        yield Text("they were asked differently worded questions", "dim")
    table = Table(box=None, pad_edge=False, show_edge=False)
    for header, width in (("", None), ("A", 1), ("B", 1)):
        table.add_column(Text(header), ratio=width, overflow="fold")
    for pair in found.pairs:
        style = "yellow" if pair.difference else ""
        table.add_row(Text("≠" if pair.difference else "", style), _step(pair.first, style), _step(pair.second, style))
    yield table
    if found.left:
        yield Text(f"{counted(found.left, 'further step')} not shown", "dim")


def _of_runs(found: ComparedRunsJson) -> Iterator[RenderableType]:
    decided = ", ".join(f"{name}: {count}" for name, count in sorted(found.decided_by.items()))
    yield Text.assemble(
        f"{counted(found.failing, 'failing run')}, {found.passing} passing",
        "  " if decided else "",
        content(f"(decided by {decided})" if decided else "", 200, "dim"),
    )
    if found.left:
        yield Text(f"{counted(found.left, 'earlier run')} not read", "dim")
    if found.step is None:
        yield Text(f"cannot tell: none of {counted(found.looked_at, 'place')} differs beyond chance", "bold")
        return
    low, high = found.step.lift.low, found.step.lift.high
    yield content(found.step.told, 400, "bold")
    yield Text(f"difference {found.step.lift.value:+.2f} ({low:+.2f} to {high:+.2f}), p {found.step.p_value:.2g}, "
               f"of {counted(found.looked_at, 'place')} looked at", "dim")  # fmt: skip
    if len(found.examples) > 1:
        yield Text.assemble("tracejury compare ", content(" ".join(found.examples)))


def _step(step: TraceStepJson | None, style: str = "") -> Text:
    if step is None:
        return Text("-", "dim")
    what = f"{step.tool}({step.arguments[:_TEXT]})" if step.tool else "answer"
    ended = f" → {step.outcome}" if step.outcome else ""
    return content(f"{step.agent}: {what}{ended} {step.result[:_TEXT]}", 3 * _TEXT, style)
