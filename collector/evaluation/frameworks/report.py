"""The measures of an evaluation as a table for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tracejury.schemas.text.terminal import one_line

from .items import Measure, ScoredFact
from .run import ReconstructionEvaluation
from .score_agents import ANNOUNCED
from .score_failures import BESIDE


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One line of the table; `value` None where there was nothing to measure. `n`: facts measured."""

    measure: str
    goal: str
    value: float | None
    n: int
    met: bool | None
    share: bool = False


def rows(e: ReconstructionEvaluation) -> list[MeasureRow]:
    """The table: each measure with its goal, its value and on how many facts."""
    stated = [i for i in e.items if i.stated]
    untold = {i.capture for i in e.items if not i.stated and i.measure in TREE}
    managers = _of(stated, Measure.MANAGER)
    agents = _captures(i for i in e.items if i.measure is Measure.AGENTS)
    return [
        _share("agents exactly right, by capture", agents, 0.97),
        _share("agents with their number of runs", _of(stated, Measure.AGENTS), 0.97),
        _share("parent relations", _of(stated, Measure.PARENTS), 0.97),
        _share("tool calls", _of(stated, Measure.TOOL_CALLS), 0.98),
        _share("LLM calls counted once", _of(stated, Measure.LLM_CALLS), 0.99),
        _share("injected failures found", _primary(_of(stated, Measure.FAILURES)), 0.97),
        *_findings(e),
        _share("manager of a killed run, announced", [i for i in managers if i.what == ANNOUNCED], 1.0),
        _share("manager of a killed run, otherwise", [i for i in managers if i.what != ANNOUNCED], None),
        *(_none(what, [i for i in _of(stated, Measure.FAULTS) if i.what == what], e) for what in FAULTS),
        MeasureRow("captures that do not state all", "", float(len(untold)), len(e.scenarios), None),
        _none("invented beyond what exports state", [i for i in e.items if not (i.stated or i.ok)], e),
    ]


TREE = {Measure.AGENTS, Measure.PARENTS, Measure.TOOL_CALLS, Measure.LLM_CALLS}
FAULTS = {"lost": "spans lost", "crash": "crashes", "open": "traces never settled"}


def _of(items: Iterable[ScoredFact], measure: Measure) -> list[ScoredFact]:
    return [i for i in items if i.measure is measure]


def _share(name: str, items: Sequence[ScoredFact], goal: float | None) -> MeasureRow:
    n = sum(i.weight for i in items)
    value = sum(i.weight for i in items if i.ok) / n if n else None
    met = None if goal is None or value is None else value >= goal
    return MeasureRow(name, "" if goal is None else f"{goal:.0%}", value, n, met, share=True)


def _captures(items: Iterable[ScoredFact]) -> list[ScoredFact]:
    """One item a capture, of those that state all their agents: right where each is."""
    of: defaultdict[str, list[ScoredFact]] = defaultdict(list)
    for item in items:
        of[item.capture].append(item)
    whole = {c: found for c, found in of.items() if all(i.stated for i in found)}
    return [ScoredFact(c, Measure.AGENTS, "all", "", "", all(i.ok for i in found)) for c, found in whole.items()]


def _primary(items: Sequence[ScoredFact]) -> list[ScoredFact]:
    return [i for i in items if not i.what.endswith(BESIDE)]


def _findings(e: ReconstructionEvaluation) -> Iterator[MeasureRow]:
    of = _of(e.items, Measure.FINDINGS)
    for name, runs in (("happy S1 runs", [i for i in of if i.what == "S1"]), ("all happy runs", of)):
        found = sum(len(i.got) for i in runs if isinstance(i.got, list))
        high = sum(i.kind == "HIGH" for i in runs)
        value = found / len(runs) if runs else None
        yield MeasureRow(f"findings a run, {name}", "≤ 0.2", value, len(runs), None if value is None else value <= 0.2)  # noqa: PLR2004 - the goal
        yield MeasureRow(f"{name} with a HIGH finding", "0", float(high), len(runs), not high)


def _none(what: str, items: Sequence[ScoredFact], e: ReconstructionEvaluation) -> MeasureRow:
    return MeasureRow(
        FAULTS.get(what, what), "0", float(len(items)), e.spans if what in FAULTS else len(e.scenarios), not items
    )


def as_json(e: ReconstructionEvaluation) -> dict[str, Any]:
    """The table, every miss, what no export states (each with its rules), and how many misses each label has."""
    return {
        "captures": len(e.scenarios),
        "spans": e.spans,
        "shuffle": e.shuffle,
        "measures": [{"measure": r.measure, "goal": r.goal, "value": r.value, "n": r.n, "met": r.met} for r in rows(e)],
        "labels": {label: dict(counts) for label, counts in _labels(e).items()},
        "misses": [_item(i) for i in e.items if not i.ok],
        "unstated": [_item(i) for i in e.items if i.rules],
    }


def _item(i: ScoredFact) -> dict[str, Any]:
    return {
        "capture": i.capture,
        "measure": i.measure.value,
        "item": i.what,
        "kind": i.kind,
        "expected": i.expected,
        "got": i.got,
        "stated": i.stated,
        "rules": list(i.rules),
    }


def _labels(e: ReconstructionEvaluation) -> dict[str, Counter[str]]:
    of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in e.items:
        if not item.ok:
            of[item.label][f"{item.measure.value}: {item.kind or item.what}"] += 1
    return dict(sorted(of.items()))


def as_tables(e: ReconstructionEvaluation) -> RenderableType:
    """The table, then a line for each label that has misses."""
    table = Table("measure", "goal", "value", "n", "", title=_title(e), title_justify="left", box=None)
    for row in rows(e):
        mark = "" if row.met is None else "met" if row.met else "missed"
        table.add_row(row.measure, row.goal, _value(row), str(row.n), mark)
    misses = Table("label", "misses", title="Misses by label", title_justify="left", box=None)
    for label, counts in _labels(e).items():
        listed = ", ".join(f"{kind} {n}" for kind, n in counts.most_common())
        misses.add_row(Text(one_line(label)), Text(one_line(listed)))
    return Group(table, Text(), misses)


def as_list(e: ReconstructionEvaluation) -> RenderableType:
    """The facts that exports do not state: a line for each fact and rule."""
    table = Table("capture", "measure", "item", "rule", "invented", box=None)
    for item in e.items:
        for rule in item.rules:
            cells = (item.capture, item.measure.value, item.what, rule, "" if item.ok or item.stated else "yes")
            table.add_row(*(Text(one_line(cell)) for cell in cells))
    return table


def _title(e: ReconstructionEvaluation) -> str:
    order = "in the order of their arrival" if e.shuffle is None else f"shuffled with seed {e.shuffle}"
    return f"{len(e.scenarios)} captures, {e.spans} spans, {order}"


def _value(row: MeasureRow) -> str:
    if row.value is None:
        return "-"
    if row.share:
        return f"{row.value:.1%}"
    return f"{row.value:.2f}" if row.goal.startswith("≤") else f"{row.value:.0f}"
