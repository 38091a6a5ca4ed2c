"""Facts as clusters with weights, units and errors, in SQL: one text for sums that are kept and those that are not.

A cluster has a weight W, t units, and `vals`: for each error that counts, (value, turn) for every value that it counts
under. Names in the texts are of columns; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
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
"""Values that a finding counts under."""


def units(unit: Unit) -> str:
    """The number of units of a fact."""
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
    hit = _hit(unit)
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


def ranks(clusters: str, unit: Unit, *, of_findings: bool) -> str:
    """Rows (key, n, wb, wt, hits) a group, from clusters as `sums` takes them.

    Of values of findings wt is 0: all have the same units.
    """
    if of_findings:
        values = "arrayDistinct(arrayMap(x -> x.1, vals))"
        rows = f"SELECT v AS key, W, 0 AS t, {_hit(unit)} AS b FROM ({clusters}) ARRAY JOIN {values} AS v WHERE v != ''"
    else:
        hits = f"arrayMap(v -> {_hit(unit)}, [''])[1]" if unit is Unit.TURN else "notEmpty(vals)"
        rows = f"SELECT key, W, t, {hits} AS b FROM ({clusters})"
    terms = "toInt64(count()) AS n, sum(W * b) AS wb, sum(W * t) AS wt, toInt64(sum(b)) AS hits"
    return f"SELECT key, {terms} FROM ({rows}) GROUP BY key"


def worst(ranked: Sequence[str]) -> str:
    """Rows (key, number of all groups): the first `limit` of what `ranks` gave, the highest share first."""
    groups = ranked[0]
    if len(ranked) > 1:
        terms = ", ".join(f"sum(one.{name}) AS {name}" for name in ("n", "wb", "wt", "hits"))
        groups = f"SELECT key, {terms} FROM ({' UNION ALL '.join(ranked)}) AS one GROUP BY key"
    return (
        f"SELECT key, count() OVER () FROM ({groups}) WHERE n > 0 "
        "ORDER BY if(wt > 0, wb / wt, wb) DESC, hits DESC, key LIMIT {limit:UInt64}"
    )


def bounded(statement: str, unit: Unit, most: int) -> str:
    """It gives no more than `most` rows and one, without summing all that there are; 0: as it stands."""
    if not most:
        return statement
    # Sessions are put together inside: those must all be.
    early = (
        "" if unit is Unit.SESSION else f" SETTINGS max_rows_to_group_by = {most + 1}, group_by_overflow_mode = 'break'"
    )
    return f"{statement} LIMIT {most + 1}{early}"


def _hit(unit: Unit) -> str:
    """The number of units of a cluster with the error `v`."""
    if unit is Unit.TURN:
        return "least(countEqual(arrayMap(x -> x.1, arrayDistinct(vals)), v), toUInt64(t))"
    return "toUInt64(1)"
