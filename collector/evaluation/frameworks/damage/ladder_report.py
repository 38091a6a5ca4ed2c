"""The ladder of damage as a table for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tracejury.schemas.text.terminal import one_line

from .ladder import DamageEvaluation
from .measure import DamagedCapture, Share
from .rungs import RUNGS, Rung

_SHARES: Final = ("turns", "calls", "tokens", "found")


@dataclass(frozen=True, slots=True)
class RungRow:
    """One line of the table; `missed`: the figures that do not reach the rung's goals."""

    rung: Rung
    captures: int
    outside: Share
    turns: Share
    calls: Share
    tokens: Share
    found: Share
    happy: Share
    crashes: int

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the columns that miss their goal."""
        goals = {"calls": self.rung.calls, "found": self.rung.found}
        low = [
            name for name, goal in goals.items() if (value := _value(getattr(self, name))) is not None and value < goal
        ]
        return (*low, *(name for name in ("outside", "happy") if getattr(self, name).right))


def rows(e: DamageEvaluation) -> list[RungRow]:
    """The rungs in order, each with the sums over its captures."""
    return [_row(rung, e.left[rung.name]) for rung in RUNGS]


def _row(rung: Rung, left: Sequence[DamagedCapture]) -> RungRow:
    def total(name: str) -> Share:
        shares: list[Share] = [getattr(capture, name) for capture in left]
        return Share(sum(s.right for s in shares), sum(s.n for s in shares))

    sums = {name: total(name) for name in ("outside", *_SHARES, "happy")}
    return RungRow(rung, len(left), crashes=sum(len(c.faults) for c in left), **sums)


def as_json(e: DamageEvaluation) -> dict[str, Any]:
    """Every rung with its figures, its goals, and what is lost of each label."""
    return {
        "captures": e.captures,
        "rungs": [
            {
                "rung": row.rung.name,
                "captures": row.captures,
                "not_applicable": e.captures - row.captures,
                "goals": {"calls": row.rung.calls, "found": row.rung.found, "happy": 0, "outside": 0},
                "outside": {"spans": row.outside.right, "of": row.outside.n},
                **{name: {"share": _value(getattr(row, name)), "n": getattr(row, name).n} for name in _SHARES},
                "happy": {"with_error": row.happy.right, "n": row.happy.n},
                "crashes": row.crashes,
                "missed": list(row.missed),
                "lost": {label: dict(lost.most_common()) for label, lost in _lost(e.left[row.rung.name]).items()},
            }
            for row in rows(e)
        ],
    }


def as_tables(e: DamageEvaluation) -> RenderableType:
    """A line for each rung, then the labels that lose most on each."""
    heads = (
        "rung",
        "captures",
        "n/a",
        "outside",
        "turns",
        "calls",
        "tokens",
        "faults found",
        "happy with error",
        "missed",
    )
    table = Table(*heads, title=f"{e.captures} captures, damaged", title_justify="left", box=None)
    losses = Table("rung", "label", "lost", title="Losses by rung and label", title_justify="left", box=None)
    for row in rows(e):
        table.add_row(
            row.rung.name,
            str(row.captures),
            str(e.captures - row.captures),
            f"{row.outside.right} of {row.outside.n}",
            *(_shown(getattr(row, name)) for name in _SHARES),
            f"{row.happy.right} of {row.happy.n}",
            ", ".join(row.missed),
        )
        for label, lost in _lost(e.left[row.rung.name]).items():
            listed = ", ".join(f"{what} {n}" for what, n in lost.most_common(4))
            losses.add_row(row.rung.name, Text(one_line(label)), Text(one_line(listed)))
    return Group(table, Text(), losses)


def _lost(left: Sequence[DamagedCapture]) -> dict[str, Counter[str]]:
    of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for capture in left:
        of[capture.label].update(_losses(capture))
    return {label: lost for label, lost in sorted(of.items()) if lost}


def _losses(capture: DamagedCapture) -> Iterator[str]:
    for name in ("outside", *_SHARES, "happy"):
        share: Share = getattr(capture, name)
        yield from (f"{name}: {line}" for line in share.lost)
    yield from (f"crash: {line}" for line in capture.faults)


def _value(share: Share) -> float | None:
    return share.right / share.n if share.n else None


def _shown(share: Share) -> str:
    value = _value(share)
    return "-" if value is None else f"{value:.1%} of {share.n}"
