"""Facts as clusters with weights, units and errors, in SQL: one text for sums that are kept and those that are not.

A cluster has a weight W, t units, and `vals`: for each error that counts, (value, turn) for every value that it counts
under. Names in the texts are of columns; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.rates import By, Population, Unit
from tracejury.schemas.taxonomy import Severity

from .facts import SCOPE, ErrorScope
from .tally import FOUND, JUDGED, MISSED, TERMS

EACH: Final = "(j, l, p, d, x, c, f, m, h, o, u)"
"""An error: judge, whether an LLM judge, scopes, dimensions, taxonomy, category, confidences, tool, turn."""

COLUMNS: Final = ", ".join(
    f"`Errors.{name}`"
    for name in (
        "Judge",
        "Llm",
        "Scopes",
        "Dimensions",
        "Taxonomy",
        "Category",
        "Low",
        "Medium",
        "High",
        "Tool",
        "Turn",
    )
)

OF_POPULATION: Final = {population: f"bitAnd(p, {scope:d}) > 0" for population, scope in SCOPE.items()}
"""Which errors count."""

OF_ITS_JUDGE: Final = f"bitAnd(p, {ErrorScope.ITS_JUDGE:d}) > 0"
"""Which errors count where one judge's are asked for."""

OF_ITS_PACK: Final = f"bitAnd(p, {ErrorScope.ITS_PACK:d}) > 0"
"""Which errors count where those of all checks of a pack are asked for."""

WEIGHT: Final = {
    Population.DETECTORS: "Detectors",
    Population.JUDGES: "Judges",
    Population.BOTH: "Both",
}
"""The columns of their weights; that of the reason beside it ends in Why."""

CATEGORY: Final = "concat(x, '/', c)"


def severity(least: str) -> str:
    """The rank of an error's severity for who asks for confidences of at least `least`."""
    return f"if(h >= {least}, 2, if(m >= {least}, 1, 0))"


def values(by: By, least: str) -> str:
    """The values that an error counts under."""
    return {
        By.JUDGE: "[toString(j)]",
        By.DIMENSION: "arrayMap(v -> toString(v), d)",
        By.TAXONOMY: "[toString(x)]",
        By.CATEGORY: f"[{CATEGORY}]",
        By.SEVERITY: f"[{[one.value for one in Severity]}[{severity(least)} + 1]]",
        By.TOOL: "if(o = '', [], [toString(o)])",
    }[by]


def units(unit: Unit) -> str:
    """The number of units of a fact."""
    return "Turns" if unit is Unit.TURN else "1"


def vals(condition: str, values: str, unit: Unit) -> str:
    """`vals` of a fact: `values` (an array of texts) of each error that meets `condition`."""
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
