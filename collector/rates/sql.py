"""Questions as SQL over `run_facts`. Names in the texts are of columns; whatever a user typed is a bound parameter.

A cluster is a fact, or all facts of a session: of weight W with t units, b of them with an error, y errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from tracejury.collector.store.derived.facts import HOUR, SCOPE, ErrorScope
from tracejury.collector.store.scope import TENANT
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.rates import By, Population, Unit
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import Outcome

from .question import OF_RUNS, Question

TERMS: Final = {
    "n": "count()",
    "units": "sum(t)",
    "hits": "sum(b)",
    "errors": "sum(y)",
    "w": "sum(W)",
    "w2": "sum(W * W)",
    "wt": "sum(W * t)",
    "w2t2": "sum(W * W * t * t)",
    "wb": "sum(W * b)",
    "w2b2": "sum(W * W * b * b)",
    "w2bt": "sum(W * W * b * t)",
    "wy": "sum(W * y)",
    "w2y": "sum(W * W * y)",
    "w2yt": "sum(W * W * y * t)",
    "w2y2": "sum(W * W * y * y)",
}
"""The sums of clusters, by the fields of `Sums`."""

_SUMS: Final = ", ".join(f"{text} AS {name}" for name, text in TERMS.items())

WEIGHT: Final = {
    Population.DETECTORS: "Detectors",
    Population.JUDGES: "Judges",
    Population.BOTH: "Both",
}
"""The columns of their weights; that of the reason beside it ends in Why."""

WHOLE_PARTITIONS: Final = "SETTINGS do_not_merge_across_partitions_select_final = 1"
"""Rows of one key are of one hour, so of one partition: FINAL need not compare partitions."""

HOURS: Final = "Hour >= {first:UInt32} AND Hour <= {last:UInt32}"
NEAR: Final = f"TraceId IN (SELECT arrayJoin(Parts) FROM run_facts WHERE {TENANT} AND {HOURS})"
"""A condition on a trace id: too many may fulfil it, never too few."""

_ERROR: Final = {
    "j": "Judge", "l": "Llm", "p": "Scopes", "d": "Dimensions", "x": "Taxonomy", "c": "Category", "f": "Low",
    "m": "Medium", "h": "High", "o": "Tool", "u": "Turn",
}  # fmt: skip
"""The columns of an error, by their names in the conditions and values below."""

_LEAST: Final = "if(Known, {recognised:Float64}, {unrecognised:Float64})"
_ITS_JUDGE: Final = f"bitAnd(p, {ErrorScope.ITS_JUDGE:d}) > 0"
_CATEGORY: Final = "concat(x, '/', c)"

_LEFT_OUT: Final = tuple(one.value for one in (Outcome.FILTERED, Outcome.NOT_APPLICABLE, NotJudged.NO_CALLS))
"""Why a trace may stand in no rate without hiding anything of its session."""


def parameters(q: Question, keys: Sequence[str] = ()) -> dict[str, Any]:
    """The values of all statements; `keys`: names of groups."""
    values: dict[str, Any] = {"recognised": q.least.recognised, "unrecognised": q.least.unrecognised, "keys": keys}
    values |= dict(q.runs) | {by.value: value for by, value in q.findings.items()}
    values |= {"since": q.since, "until": q.until, "first": q.since // HOUR, "last": (q.until - 1) // HOUR}
    values |= q.stated[1]
    values |= {"step": q.step, "judge": q.judge.name if q.judge else "", "pack": q.pack, "behaviour": q.behaviour}
    return values


def by_runs(q: Question, *, keyed: bool = False) -> str:
    """The sums by point in time and group (`at`, `key`), of groups that runs tell apart, or without groups.

    `keyed`: of the groups that the parameters name alone.
    """
    of_keys = " WHERE key IN {keys:Array(String)}" if keyed else ""
    return f"SELECT at, key, {_SUMS} FROM ({_clusters(q, _scalars(q, _counted(q)))}){of_keys} GROUP BY at, key"


def by_errors(q: Question, *, keyed: bool = False) -> str:
    """The same of groups that errors tell apart; as far as they are sums of units, of those with such an error."""
    value = "" if q.of_judges else _value(q.by)
    condition = _counted(q)
    if q.of_judges:  # of rules alone, but those that failed there
        value = "toString(j)"
        condition = f"{_condition(q)} AND {_ITS_JUDGE} AND NOT l AND NOT has(Missed, j)"
    turn = q.unit is Unit.TURN
    if turn:
        condition += " AND u >= 0"  # an error of no turn is none of turns
    if q.by is By.DIMENSION:
        each = "arrayMap(v -> (toString(v), u), d)" if turn else "d"
        none = "CAST([], 'Array(Tuple(String, Int32))')" if turn else "CAST([], 'Array(LowCardinality(String))')"
        vals = f"arrayFlatten({_over(f'if({condition}, {each}, {none})')})"
    else:
        each, none = (f"({value}, u)", "('', toInt32(0))") if turn else (value, "''")
        vals = f"arrayFilter(v -> {'v.1' if turn else 'v'} != '', {_over(f'if({condition}, {each}, {none})')})"
    names = "arrayMap(v -> v.1, vals)" if turn else "vals"
    hits = "least(countEqual(arrayMap(v -> v.1, arrayDistinct(vals)), k), toUInt64(t))" if turn else "1"
    cells = f"arrayMap(k -> (k, countEqual({names}, k), {hits}), arrayDistinct({names}))"
    of_keys = " WHERE key IN {keys:Array(String)}" if keyed else ""
    return (
        f"SELECT at, toString(key) AS key, {_SUMS} FROM (SELECT at, W, toInt64(t) AS t, cell.1 AS key, "
        f"toInt64(cell.2) AS y, toInt64(cell.3) AS b FROM ({_clusters(q, [(vals, 'groupArrayArray', 'vals')])}) "
        f"ARRAY JOIN {cells} AS cell){of_keys} GROUP BY at, key"
    )


def missed(q: Question) -> str:
    """The sums of units by point in time and rule that failed there."""
    return (
        f"SELECT at, toString(rule) AS key, {_SUMS} FROM (SELECT at, W, t, 0 AS b, 0 AS y, rule FROM "
        f"({_clusters(q, [('Missed', 'groupUniqArrayArray', 'missed')])}) ARRAY JOIN missed AS rule) GROUP BY at, key"
    )


def by_llm_judges(q: Question) -> str:
    """The sums by point in time and LLM judge: its errors in what it scored, with its own weights."""
    said = "arrayConcat(arrayZip(Scored.Judge, Scored.Weight), arrayMap(v -> (v, toFloat64(0)), Missed))"
    of_pack = f" AND {_of_pack('said.1')}" if q.pack else ""
    found = _scalars(q, f"{_condition(q)} AND {_ITS_JUDGE} AND l AND j = said.1")
    return f"SELECT at, key, {_SUMS} FROM ({_clusters(q, found, joins=said, where=of_pack)}) GROUP BY at, key"


def unjudged(q: Question) -> str:
    """Number of facts without a rate, by reason."""
    column = WEIGHT[q.population]
    return (
        f"SELECT toString({column}Why), count() FROM run_facts FINAL WHERE {of_facts(q)} AND {column} = 0 "
        f"GROUP BY {column}Why {WHOLE_PARTITIONS}"
    )


def any_judged(q: Question) -> str:
    """A row where the population judged anything."""
    return (
        f"SELECT 1 FROM run_facts FINAL WHERE {of_facts(q)} AND {WEIGHT[q.population]} > 0 LIMIT 1 {WHOLE_PARTITIONS}"
    )


def worst(q: Question) -> str:
    """The first `limit` groups, the highest share first, after each how many there are in all."""
    # All groups that errors tell apart have the same units.
    groups, share = (by_errors(q), "wb") if q.of_findings else (by_runs(q), "if(wt > 0, wb / wt, 0)")
    return (
        f"SELECT *, count() OVER () FROM ({groups}) WHERE n > 0 ORDER BY {share} DESC, hits DESC, key "
        "LIMIT {limit:UInt64}"
    )


_Found = Sequence[tuple[str, str, str]]
"""Of a cluster: the expression of a fact, the function that puts those of a session together, the name."""


def _clusters(q: Question, found: _Found, *, joins: str = "", where: str = "") -> str:
    """Clusters with `at`, `key`, `W`, `t` and what is `found`. `joins`: an array of (LLM judge, weight)."""
    weight, blocks, of_weight = ("said.2", "said.2 = 0", "") if joins else _weight(q)
    key = "toString(said.1)" if joins else _key(q)
    own = ", ".join(f"{text} AS {name}" for text, _, name in found)
    array_join = f"ARRAY JOIN {joins} AS said " if joins else ""
    row = (
        f"SELECT {_at(q)} AS at, {key} AS key, {weight} AS W, {'Turns' if q.unit is Unit.TURN else '1'} AS t, {own}, "
        f"Session, {blocks} AS blocks FROM run_facts FINAL {array_join}WHERE {of_facts(q)}{of_weight}{where}"
    )
    names = ", ".join(name for *_, name in found)
    if q.unit is Unit.SESSION:
        whole = ", ".join(f"{function}(one.{name}) AS {name}" for _, function, name in found)
        return (
            f"SELECT at, key, max(one.W) AS W, 1 AS t, {whole} FROM ({row} AND Session != '') AS one "
            f"GROUP BY at, key, Session HAVING W > 0 AND NOT max(blocks) {WHOLE_PARTITIONS}"
        )
    return f"SELECT at, key, W, t, {names} FROM ({row}) WHERE W > 0 AND t > 0 {WHOLE_PARTITIONS}"


def _scalars(q: Question, condition: str) -> _Found:
    """The number of a cluster's errors, and of its units with one."""
    if q.unit is Unit.TURN:
        turns = f"arrayFilter(v -> v >= 0, {_over(f'if({condition}, u, -1)')})"
        hits = f"toInt64(least(length(arrayDistinct({turns})), t))"
        return [(f"toInt64(length({turns}))", "sum", "y"), (hits, "max", "b")]
    count = f"toInt64(arraySum({_over(f'toUInt8({condition})')}))"
    return [(count, "sum", "y"), (f"toInt64({count} > 0)", "max", "b")]


def _over(expression: str) -> str:
    """An expression of each error, with the columns that it names."""
    used = [name for name in _ERROR if re.search(rf"\b{name}\b", expression)]
    columns = ", ".join(f"`Errors.{_ERROR[name]}`" for name in used)
    return f"arrayMap(({', '.join(used)}) -> {expression}, {columns})"


def _weight(q: Question) -> tuple[str, str, str]:
    """The weight of a fact; whether, without weight, it hides what its session is; a condition on it."""
    column = WEIGHT[q.population]
    usual = f"{column} = 0 AND {column}Why NOT IN {_LEFT_OUT}"
    if q.judge is None and not q.pack:
        return column, usual, ""
    nothing = "toFloat64(0)", "0", ""
    if q.judge is None:
        if q.population is Population.DETECTORS:
            return nothing
        missing = f"arrayExists(v -> {_of_pack('v')}, Missed)"
        weights = f"arrayFilter((w, v) -> {_of_pack('v')}, Scored.Weight, Scored.Judge)"
        return f"if({missing} OR empty({weights}), 0, arrayMax({weights}))", missing, ""
    missing = "has(Missed, {judge:String})"
    if q.judge.rule:
        return nothing if q.population is Population.JUDGES else (
            f"if({missing}, 0, {column})", f"{usual} OR {missing}", "",
        )  # fmt: skip
    at = "indexOf(Scored.Judge, {judge:String})"
    return nothing if q.population is Population.DETECTORS else (f"if({at} = 0, 0, Scored.Weight[{at}])", missing, "")


def _condition(q: Question) -> str:
    """Whether an error has all that is asked of one, whoever sees it."""
    parts = [f"{'fmh'[q.severity]} >= {_LEAST}"]
    if By.DIMENSION in q.findings:
        parts.append("has(d, {dimension:String})")
    if By.TAXONOMY in q.findings:
        parts.append("x = {taxonomy:String}")
    if By.CATEGORY in q.findings:
        parts.append(f"{_CATEGORY} = {{category:String}}")
    if By.TOOL in q.findings:
        parts.append("o = {tool:String}")
    return " AND ".join(parts)


def _counted(q: Question) -> str:
    """The same, of whom the question is about: one judge, the checks of a pack, or a population."""
    if q.judge is not None:
        # Of a session's traces, an LLM judge's errors count in those that it scored.
        whose = "NOT l" if q.judge.rule else "l AND has(Scored.Judge, j)"
        whose = f"{_ITS_JUDGE} AND {whose} AND j = {{judge:String}}"
    elif q.pack:
        whose = f"bitAnd(p, {ErrorScope.ITS_PACK:d}) > 0 AND x = {{pack:String}} AND has(Scored.Judge, j)"
    else:
        whose = f"bitAnd(p, {SCOPE[q.population]:d}) > 0"
    return f"{_condition(q)} AND {whose}"


def _value(by: By | None) -> str:
    """The group that an error is of; "" for none. One may be of several dimensions."""
    severities = [one.value for one in Severity]
    return {
        By.TAXONOMY: "toString(x)",
        By.CATEGORY: _CATEGORY,
        By.SEVERITY: f"{severities}[if(h >= {_LEAST}, 3, if(m >= {_LEAST}, 2, 1))]",
        By.TOOL: "toString(o)",
        By.DIMENSION: "",
        By.JUDGE: "toString(j)",
    }[by or By.JUDGE]


def _of_pack(judge: str) -> str:
    return f"startsWith({judge}, concat({{pack:String}}, '-'))"


def _key(q: Question) -> str:
    """The group of a fact."""
    if q.by is None or q.of_findings:
        return "''"
    return "{judge:String}" if q.by is By.JUDGE else f"toString({OF_RUNS[q.by]})"


def of_facts(q: Question) -> str:
    """The condition on facts that the question is about."""
    parts = [TENANT, f"Unit = '{q.facts}'", HOURS, "At >= {since:UInt64} AND At < {until:UInt64}"]
    parts += [f"{column} = {{{column}:String}}" for column in q.runs]
    parts += ["has(Behaviours, {behaviour:String})"] * bool(q.behaviour)
    return " AND ".join([*parts, *q.stated[0]])


def _at(q: Question) -> str:
    return "intDiv(At, {step:UInt64}) * {step:UInt64}" if q.step else "toUInt64(0)"
