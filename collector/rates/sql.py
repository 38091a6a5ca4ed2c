"""Facts as clusters with weights, units and errors, in SQL: one text for sums that are kept and those that are not.

A cluster has a weight W, t units, and `vals`: for each error that counts, (value, turn) for every value that it counts
under. Names in the texts are of columns; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from typing import Final

from ...schemas.rates import By, Population, Unit
from ...schemas.taxonomy import Severity
from .tally import FOUND, JUDGED, MISSED, TERMS

EACH: Final = "(j, l, d, x, c, s, f, o, u)"
"""A finding: judge, whether an LLM judge, dimensions, taxonomy, category, severity, confidence, tool, turn."""

COLUMNS: Final = ", ".join(
    f"`Findings.{name}`"
    for name in ("Judge", "Llm", "Dimensions", "Taxonomy", "Category", "Severity", "Confidence", "Tool", "Turn")
)

OF_POPULATION: Final = {
    Population.DETECTORS: "NOT l",
    Population.JUDGES: "l",
    Population.BOTH: "1",
}
"""Which findings count."""

WEIGHT: Final = {
    Population.DETECTORS: "Detectors",
    Population.JUDGES: "Judges",
    Population.BOTH: "Both",
}
"""The columns of their weights; that of the reason beside it ends in Why."""

CATEGORY: Final = "concat(x, '/', c)"
SEVERITY: Final = f"[{[severity.value for severity in Severity]}[s + 1]]"

VALUES: Final = {
    By.JUDGE: "[toString(j)]",
    By.DIMENSION: "arrayMap(v -> toString(v), d)",
    By.TAXONOMY: "[toString(x)]",
    By.CATEGORY: f"[{CATEGORY}]",
    By.SEVERITY: SEVERITY,
    By.TOOL: "if(o = '', [], [toString(o)])",
}
"""What a finding counts under."""


def units(unit: Unit) -> str:
    """How many of them a fact has."""
    return "Turns" if unit is Unit.TURN else "1"


def kind(unit: Unit) -> str:
    """The facts that it is counted from."""
    return "run" if unit in (Unit.RUN, Unit.TURN) else "trace"


def vals(condition: str, values: str, unit: Unit) -> str:
    """`vals` of a fact: `values` (an array of texts) of each finding that meets `condition`."""
    inside = f"({condition}) AND u >= 0" if unit is Unit.TURN else condition
    return (
        f"arrayFlatten(arrayMap({EACH} -> if({inside}, arrayMap(v -> (v, u), {values}), "
        f"CAST([], 'Array(Tuple(String, Int32))')), {COLUMNS}))"
    )


def sums(clusters: str, places: str, unit: Unit, *, judged: bool = True) -> str:
    """Rows as `Tally.add` takes them, from clusters with the columns of `places`, W, t, vals, own, missed.

    Without `judged` only of what was found.
    """
    hit = "toUInt64(1)"
    if unit is Unit.TURN:
        hit = "least(countEqual(arrayMap(x -> x.1, arrayDistinct(vals)), v), toUInt64(t))"
    # Counted before they are joined: rows would carry all of `vals` along otherwise.
    names = "arrayMap(x -> x.1, vals)"
    cells = f"arrayMap(v -> ('{FOUND}', v, countEqual({names}, v), {hit}), arrayDistinct({names}))"
    if judged:
        none = "toUInt64(0), toUInt64(0)"
        cells = f"arrayConcat([('{JUDGED}', own, {none})], {cells}, arrayMap(v -> ('{MISSED}', v, {none}), missed))"
    terms = ", ".join(f"{text} AS {name}" for name, text in TERMS.items())
    return (
        f"SELECT {places}, about, value, {terms} FROM (SELECT {places}, W, toInt64(t) AS t, cell.1 AS about, "
        f"cell.2 AS value, toInt64(cell.3) AS y, toInt64(cell.4) AS b FROM ({clusters}) ARRAY JOIN {cells} AS cell) "
        f"GROUP BY {places}, about, value"
    )
