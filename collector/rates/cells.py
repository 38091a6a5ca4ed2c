"""Answers from stored sums. All of it blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.profiles import CAUTIOUS_PROFILE, DEFAULT_PROFILE
from tracejury.schemas.rates import By, Population, Unit
from tracejury.schemas.taxonomy import Severity

from . import sql
from .facts import HOUR
from .question import OF_RUNS, Question
from .tally import FOUND, JUDGED, MISSED, TERMS, UNJUDGED, Tally

RULE, SCORED, LEAST = "rule", "scored", "least"
"""Facets beside those of `By`: a detector's name, units that one LLM judge scored, errors at least so severe."""


def has_sums(question: Question) -> bool:
    """Whether its sums are stored: at most one attribute of findings, a profile with a name.

    There are none of sessions, packs, behaviours of users, or simulated sessions.
    """
    q = question
    if q.pack or q.profile is None or q.unit is Unit.SESSION or OF_RUNS[By.SESSION] in q.runs:
        return False
    if q.simulated or q.behaviour or q.by in (By.SESSION, By.BEHAVIOUR):
        return False
    return len(q.findings) + (q.severity > 0) + (q.judge is not None) + q.of_findings <= 1


def add_sums(
    store: Store,
    tally: Tally,
    q: Question,
    generations: Sequence[int],
    keys: Sequence[str] | None = None,
    most: int = 0,
) -> None:
    """Add the sums of these generations; `keys`: only of these groups; `most`: as of `sql.bounded`.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    if not generations:
        return
    text = sql.bounded(_statement(q, keyed=keys is not None), q.unit, most)
    for row in Scope(store, q.tenant).select(text, generations=generations, **values_of(q, keys)):
        tally.add(row)


def values_of(q: Question, keys: Sequence[str] | None = None) -> dict[str, Any]:
    """The parameters of the statements, beside the generations."""
    values: dict[str, Any] = {"unit": q.unit.value, "population": q.population.value, "step": q.step}
    values |= dict(q.runs) | {by.value: value for by, value in q.findings.items()}
    values |= {"judge": q.judge.name if q.judge else "", "profile": q.profile or ""}
    if q.severity:
        values["least"] = list(Severity)[q.severity].value
    return values | ({"keys": keys} if keys is not None else {})


def ranks(q: Question) -> str:
    """As of `sql.ranks`, for any question but one that tells judges apart."""
    if q.of_findings:
        facet, key, n, wt = f"Facet = '{q.by}'", "toString(Value)", "sum(one.errors)", "toFloat64(0)"
    else:
        facet, key = f"Facet != '{UNJUDGED}'", key_column(q)
        n, wt = (f"sum({_sign(q)}one.{term})" for term in ("n", "wt"))
    return (
        f"SELECT {key} AS key, {n} AS n, sum(one.wb) AS wb, {wt} AS wt, sum(one.hits) AS hits "
        f"FROM rate_cells AS one WHERE {_where(q)} AND {facet} GROUP BY key"
    )


def _statement(q: Question, *, keyed: bool) -> str:
    at = f"intDiv(toUInt64(Bucket) * {HOUR}, {{step:UInt64}}) * {{step:UInt64}}" if q.step else "toUInt64(0)"
    where = _where(q)
    if keyed and q.by is not None:  # units count for every group that is told apart by findings
        of_all = f" OR Facet = '{JUDGED}'" if q.of_findings else ""
        where += f" AND ({'Value' if q.of_findings else 'key'} IN {{keys:Array(String)}}{of_all})"
    return (
        f"SELECT {at} AS at, {key_column(q)} AS key, {_about(q)} AS about, {_value(q)} AS value, "
        f"{', '.join(f'sum({_sign(q)}{term})' for term in TERMS)} FROM rate_cells WHERE {where} "
        "GROUP BY at, key, about, value"
    )


def _where(q: Question) -> str:
    conditions = [TENANT, "Unit = {unit:String}", _wanted(q), "Generation IN {generations:Array(UInt64)}"]
    return " AND ".join(conditions + [f"{column} = {{{column}:String}}" for column in q.runs])


def _wanted(q: Question) -> str:
    """Which rows, by population, profile, facet and value."""
    usual, one = (
        f"Population = {{population:String}} AND Profile = '' AND Facet = '{UNJUDGED}'",
        "Value = {judge:String}",
    )
    if q.judge is not None and q.population is (Population.JUDGES if q.judge.rule else Population.DETECTORS):
        return usual  # the judge is not of those whose errors are counted
    if q.judge is not None and not q.judge.rule:
        return f"({usual} OR {_of_llm_judges(q)} AND {one})"
    errors = " OR ".join(_errors(q))
    units = f"Facet IN ('{JUDGED}', '{UNJUDGED}')"
    if q.judge is not None or q.of_judges:
        units += f" OR Facet = '{MISSED}'" + (f" AND {one}" if q.judge else "")
    wanted = f"Population = {{population:String}} AND (Profile = '' AND ({units}) OR {_profile(q)} AND ({errors}))"
    if q.of_judges and q.population is not Population.DETECTORS:
        return f"({wanted} OR {_of_llm_judges(q)})"
    return f"({wanted})"


def _of_llm_judges(q: Question) -> str:
    """Condition: units that each LLM judge scored, and its errors there."""
    of_judge = f"Profile = '' AND Facet = '{SCORED}' OR {_profile(q)} AND Facet = '{By.JUDGE}'"
    return f"Population = '{Population.JUDGES}' AND ({of_judge})"


def _errors(q: Question) -> Iterator[str]:
    """Facets of errors: of those that were asked for, and of what tells groups apart."""
    if q.judge is not None:
        yield f"Facet = '{RULE}' AND Value = {{judge:String}}"
    elif q.severity:
        yield f"Facet = '{LEAST}' AND Value = {{least:String}}"
    elif q.findings:
        yield from (f"Facet = '{by}' AND Value = {{{by}:String}}" for by in q.findings)
    else:
        yield "Facet = ''"
    if q.of_findings:
        yield f"Facet = '{RULE if q.of_judges else q.by}'"


def _profile(q: Question) -> str:
    if q.profile:
        return "Profile = {profile:String}"
    return f"(Profile = '{DEFAULT_PROFILE}' AND Known OR Profile = '{CAUTIOUS_PROFILE}' AND NOT Known)"


def _about(q: Question) -> str:
    missed = f"Facet = '{MISSED}', '{JUDGED if q.judge else MISSED}', "
    return (
        f"multiIf(Facet = '{UNJUDGED}', '{UNJUDGED}', Facet IN ('{JUDGED}', '{SCORED}'), '{JUDGED}', {missed}'{FOUND}')"
    )


def _value(q: Question) -> str:
    """The value that a row counts under: none where all rows are of the one that was asked for."""
    return "toString(Value)" if q.of_findings else f"if(Facet = '{UNJUDGED}', toString(Value), '')"


def _sign(q: Question) -> str:
    return f"if(Facet = '{MISSED}', -1, 1) * " if q.judge else ""


def key_column(q: Question) -> str:
    """The group of a row."""
    if q.by is None or q.of_findings:
        return "''"
    return "{judge:String}" if q.by is By.JUDGE else f"toString({OF_RUNS[q.by]})"
