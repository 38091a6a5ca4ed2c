"""Answers from facts. All of it blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.rates import By, Population, Unit

from . import sql
from .cells import key_column
from .question import Question
from .tally import TERMS, UNJUDGED, Tally

_LEAST: Final = "if(Known, {recognised:Float64}, {unrecognised:Float64})"

_NONE: Final = "CAST([], 'Array(String)')"

_LEFT_OUT: Final = "('filtered', 'not-applicable')"
"""Why a trace may stand in no rate without hiding anything of its session."""


def add_facts(
    store: Store, tally: Tally, q: Question, hours: Sequence[int], keys: Sequence[str] | None = None, most: int = 0
) -> None:
    """Add what arrived in the question's time and in these hours (since 1970).

    `keys`: only of these groups; `most`: as of `sql.bounded`.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    if not hours:
        return
    scope, values = Scope(store, q.tenant), values_of(q, hours, keys)
    for text in _statements(q, keyed=keys is not None):
        for row in scope.select(sql.bounded(text, q.unit, most), **values):
            tally.add(row)


def values_of(q: Question, hours: Sequence[int], keys: Sequence[str] | None = None) -> dict[str, Any]:
    """The parameters of the statements."""
    values: dict[str, Any] = {"recognised": q.least.recognised, "unrecognised": q.least.unrecognised}
    values |= dict(q.runs) | {by.value: value for by, value in q.findings.items()}
    values |= {"since": q.since, "until": q.until, "hours": list(hours)}
    optional = {"step": q.step, "severity": q.severity, "judge": q.judge.name if q.judge else "", "pack": q.pack}
    optional["behaviour"] = q.behaviour
    values |= {name: value for name, value in optional.items() if value}
    return values | ({"keys": keys} if keys is not None else {})


def ranks(q: Question) -> str:
    """As of `sql.ranks`, for any question but one that tells judges apart."""
    return sql.ranks(_clusters(q, keyed=False), q.unit, of_findings=q.of_findings)


def _statements(q: Question, *, keyed: bool) -> list[str]:
    texts = [sql.sums(_clusters(q, keyed=keyed), "at, key", q.unit)]
    if q.of_judges and q.population is not Population.DETECTORS:
        texts.append(sql.sums(_by_judge(q, keyed=keyed), "at, key", q.unit))
    return texts if keyed else [*texts, _unjudged(q)]


def _clusters(q: Question, *, keyed: bool) -> str:
    """One cluster a fact, or a session."""
    weight, blocks, where = _weight(q)
    condition = _condition(q)
    missed = "arrayMap(v -> toString(v), Missed)" if q.of_judges else _NONE
    found = _values(q)
    if keyed and q.of_findings:
        found = f"arrayFilter(v -> has({{keys:Array(String)}}, v), {_listed(q)})"
    row = (
        f"SELECT {_at(q)} AS at, {key_column(q)} AS key, {weight} AS W, {sql.units(q.unit)} AS t, "
        f"{sql.vals(condition, found, q.unit)} AS vals, '' AS own, {missed} AS missed, Session, {blocks} AS blocks "
        f"FROM run_facts FINAL WHERE {_where(q)}{where}{_keyed(q, keyed=keyed)}"
    )
    if q.unit is Unit.SESSION:
        return (
            "SELECT at, key, max(one.W) AS W, 1 AS t, groupArrayArray(one.vals) AS vals, '' AS own, "
            f"groupUniqArrayArray(one.missed) AS missed FROM ({row} AND Session != '') AS one "
            "GROUP BY at, key, Session HAVING W > 0 AND NOT max(blocks)"
        )
    return f"SELECT at, key, W, t, vals, own, missed FROM ({row}) WHERE W > 0 AND t > 0"


def _by_judge(q: Question, *, keyed: bool) -> str:
    """One cluster a fact and LLM judge that scored it, of that judge's errors."""
    own = f"{sql.OF_ITS_JUDGE} AND l AND j = said.1"
    found = sql.vals(f"{_condition(q, judged=False)} AND {own}", "[toString(j)]", q.unit)
    of_keys = " AND own IN {keys:Array(String)}" if keyed else ""
    of_keys += f" AND {_of_pack('own')}" if q.pack else ""
    said = "arrayConcat(arrayZip(Scored.Judge, Scored.Weight), arrayMap(v -> (v, toFloat64(0)), Missed))"
    row = (
        f"SELECT {_at(q)} AS at, '' AS key, said.2 AS W, {sql.units(q.unit)} AS t, {found} AS vals, "
        f"toString(said.1) AS own, CAST([], 'Array(String)') AS missed, Session FROM run_facts FINAL "
        f"ARRAY JOIN {said} AS said WHERE {_where(q)}{of_keys}"
    )
    if q.unit is Unit.SESSION:
        return (
            "SELECT at, key, max(one.W) AS W, 1 AS t, groupArrayArray(one.vals) AS vals, own, missed "
            f"FROM ({row} AND Session != '') AS one GROUP BY at, key, own, missed, Session HAVING min(one.W) > 0"
        )
    return f"SELECT at, key, W, t, vals, own, missed FROM ({row}) WHERE W > 0 AND t > 0"


def _unjudged(q: Question) -> str:
    """Number of facts without a rate, by reason."""
    column = sql.WEIGHT[q.population]
    zeros = ", ".join("0" for _ in list(TERMS)[1:])
    return (
        f"SELECT 0, '', '{UNJUDGED}', toString({column}Why), count(), {zeros} FROM run_facts FINAL "
        f"WHERE {_where(q)} AND {column} = 0 GROUP BY {column}Why"
    )


def _weight(q: Question) -> tuple[str, str, str]:
    """The weight of a fact; whether, without weight, it hides what its session is; a condition on it."""
    column = sql.WEIGHT[q.population]
    if q.judge is None and q.pack:
        return *_weight_of_pack(q.population), ""
    if q.judge is None:
        return column, f"{column} = 0 AND {column}Why NOT IN {_LEFT_OUT}", ""
    if q.judge.rule:
        usual = f"{column} = 0 AND {column}Why NOT IN {_LEFT_OUT}"
        missed = "has(Missed, {judge:String})"
        if q.population is Population.JUDGES:
            return "toFloat64(0)", "0", ""
        return f"if({missed}, 0, {column})", f"{usual} OR {missed}", ""
    if q.population is Population.DETECTORS:
        return "toFloat64(0)", "0", ""
    at = "indexOf(Scored.Judge, {judge:String})"
    return f"if({at} = 0, 0, Scored.Weight[{at}])", "has(Missed, {judge:String})", ""


def _weight_of_pack(population: Population) -> tuple[str, str]:
    if population is Population.DETECTORS:
        return "toFloat64(0)", "0"
    missed = f"arrayExists(v -> {_of_pack('v')}, Missed)"
    weights = f"arrayFilter((w, v) -> {_of_pack('v')}, Scored.Weight, Scored.Judge)"
    return f"if({missed} OR empty({weights}), 0, arrayMax({weights}))", missed


def _condition(q: Question, *, judged: bool = True) -> str:
    """Whether an error counts."""
    parts = [f"{'fmh'[q.severity]} >= {_LEAST}"]
    if q.judge is not None:
        # Of a session's traces, an LLM judge's errors count in those that it scored.
        whose = "NOT l" if q.judge.rule else "l AND has(Scored.Judge, j)"
        parts += [sql.OF_ITS_JUDGE, whose, "j = {judge:String}"]
    elif judged and not q.of_judges:  # whose errors count there differs by value: see `_values`
        parts.append(_counts(q))
    if By.DIMENSION in q.findings:
        parts.append("has(d, {dimension:String})")
    if By.TAXONOMY in q.findings:
        parts.append("x = {taxonomy:String}")
    if By.CATEGORY in q.findings:
        parts.append(f"{sql.CATEGORY} = {{category:String}}")
    if By.TOOL in q.findings:
        parts.append("o = {tool:String}")
    return " AND ".join(parts)


def _counts(q: Question) -> str:
    """Which errors are of the population, or of those checks of the pack that judged there."""
    own = f"{sql.OF_ITS_PACK} AND x = {{pack:String}} AND has(Scored.Judge, j)"
    return own if q.pack else sql.OF_POPULATION[q.population]


def _of_pack(judge: str) -> str:
    return f"startsWith({judge}, concat({{pack:String}}, '-'))"


def _values(q: Question) -> str:
    """The values that an error counts under: "" for the whole, and the groups that it is of."""
    if not q.of_findings:
        return "['']"
    whole = f"if({_counts(q)}, [''], {_NONE})" if q.of_judges else "['']"
    return f"arrayConcat({whole}, {_listed(q)})"


def _listed(q: Question) -> str:
    if not q.of_findings or q.by is None:
        return _NONE
    if q.of_judges:
        # Of rules alone: the errors of LLM judges count under their names in the runs that each scored (`_by_judge`).
        # Of those that failed at a fact nothing counts under their own name.
        mine = f"{sql.OF_ITS_JUDGE} AND NOT l AND NOT has(Missed, j)"
        return _NONE if q.population is Population.JUDGES else f"if({mine}, [toString(j)], {_NONE})"
    return sql.values(q.by, _LEAST)


def _where(q: Question) -> str:
    hours = "Hour IN {hours:Array(UInt32)}"
    told = "".join(f" AND {column} = {{{column}:String}}" for column in q.runs)
    told += " AND has(Behaviours, {behaviour:String})" * bool(q.behaviour)
    time = f"{hours} AND At >= {{since:UInt64}} AND At < {{until:UInt64}}"
    return f"{TENANT} AND Unit = '{q.facts}' AND {time}{told}"


def _keyed(q: Question, *, keyed: bool) -> str:
    return " AND key IN {keys:Array(String)}" if keyed and not q.of_findings and q.by is not None else ""


def _at(q: Question) -> str:
    return "intDiv(At, {step:UInt64}) * {step:UInt64}" if q.step else "toUInt64(0)"
