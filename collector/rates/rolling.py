"""Sums of the facts of hours and days. All of it blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.inserting import insert_rows, storing
from tracejury.collector.store.scope import TENANT
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.rates import By, Population, Unit
from tracejury.schemas.taxonomy import Severity

from . import sql
from .buckets import DAY, marks
from .catching_up import BUCKET_COLUMNS
from .cells import LEAST, RULE, SCORED
from .facts import HOUR, fact_unit
from .folding import Folding
from .tally import FOUND, JUDGED, TERMS, UNJUDGED

AT_ONCE: Final = 24
"""Hours summed by one statement."""

UNITS: Final = (Unit.RUN, Unit.TURN, Unit.TRACE)

_ATTRIBUTES: Final = "Service, Version, Agent, Role, Model, Known"
_PLACES: Final = f"Bucket, {_ATTRIBUTES}, Population, Profile"
_COLUMNS: Final = f"tenant, Unit, Hours, {_PLACES}, Facet, Value, {', '.join(TERMS)}, Generation, ReceivedAt"

_WEIGHTS: Final = ", ".join(f"('{p}', {column}, {column}Why)" for p, column in sql.WEIGHT.items())
_THRESHOLDS: Final = ", ".join(f"('{name}', {least})" for name, least in PROFILES.items())
_OF_POPULATION: Final = " OR ".join(f"of.1 = '{p}' AND {one}" for p, one in sql.OF_POPULATION.items())
_OF_RULE: Final = f"{sql.OF_ITS_JUDGE} AND NOT l AND NOT has(Missed, j) AND of.1 != '{Population.JUDGES}'"

_SEVERE: Final = [severity.value for severity in Severity if severity.rank]
_NONE: Final = "CAST([], 'Array(String)')"
_NO_VALS: Final = "CAST([], 'Array(Tuple(String, Int32))')"
_ATTRIBUTES_OF_ERRORS: Final = ", ".join(
    f"arrayMap(v -> concat('{by}=', v), {sql.values(by, 'least.2')})"
    for by in (By.DIMENSION, By.TAXONOMY, By.CATEGORY, By.SEVERITY, By.TOOL)
)
_VALUES: Final = (
    f"arrayConcat(if({_OF_RULE}, [concat('{RULE}=', j)], {_NONE}), if({_OF_POPULATION}, arrayConcat([''], "
    f"{_ATTRIBUTES_OF_ERRORS}, arrayMap(v -> concat('{LEAST}=', v), "
    f"arraySlice({_SEVERE}, 1, {sql.severity('least.2')}))), {_NONE}))"
)
"""All that an error counts under, with the attribute before it."""


class Rolling:
    """Makes `rate_cells` of one tenant's hours and days. One at a time; `folding` gives the generations."""

    def __init__(self, store: Store, folding: Folding, tenant: str = "") -> None:
        self._store, self._folding, self._tenant = store, folding, tenant

    def hours(self, buckets: Sequence[int]) -> None:
        """Sum the facts of these hours. What is written to them meanwhile makes the sums void.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        for at in range(0, len(buckets), AT_ONCE):
            some = list(buckets[at : at + AT_ONCE])
            with self._folding.lock:  # nobody is writing facts of an earlier stamp
                generations = [self._folding.stamp() for _ in some]
            self._roll(1, some, generations, _of_facts())

    def days(self, buckets: Sequence[int]) -> None:
        """Add up the sums of the hours of these days; one with a changed hour is left. Raises as `hours`."""
        for bucket in buckets:
            with self._folding.lock:  # what changes after this look makes the day void, what changed before is seen
                found = marks(self._store, self._tenant, bucket, bucket)
                sources = [found.hours[hour] for hour in found.hours_of(bucket)]
                generation = self._folding.stamp()
            if all(mark.holds for mark in sources):
                self._roll(DAY, [bucket], [generation], _of_hours(), [mark.rolled for mark in sources])

    def _roll(
        self, hours: int, buckets: list[int], generations: list[int], select: str, sources: Sequence[int] = ()
    ) -> None:
        values = {"tenant": self._tenant, "buckets": buckets, "generations": generations, "sources": sources}
        rows = [
            (self._tenant, hours, bucket, 0, generation, bucket * HOUR)
            for bucket, generation in zip(buckets, generations, strict=True)
        ]
        with storing("sums of error rates"):
            self._store.command(f"INSERT INTO rate_cells ({_COLUMNS}) {select}", values)
            insert_rows(self._store, "rate_buckets", BUCKET_COLUMNS, rows)


def _of_hours() -> str:
    bucket, places = "arrayElement({buckets:Array(UInt32)}, 1)", f"{_ATTRIBUTES}, Population, Profile, Facet, Value"
    return (
        f"SELECT tenant, Unit, {DAY}, {bucket}, {places}, {', '.join(f'sum({term})' for term in TERMS)}, "
        f"arrayElement({{generations:Array(UInt64)}}, 1), {_expiry(f'{bucket} + {DAY}')} FROM rate_cells "
        f"WHERE {TENANT} AND Generation IN {{sources:Array(UInt64)}} GROUP BY tenant, Unit, {places}"
    )


def _of_facts() -> str:
    return " UNION ALL ".join(_row(unit, sums) for unit in UNITS for sums in _sums(unit))


def _row(unit: Unit, sums: str) -> str:
    """Rows of `rate_cells` from rows of sums."""
    generation = "transform(Bucket, {buckets:Array(UInt32)}, {generations:Array(UInt64)}, toUInt64(0))"
    facet = (
        f"multiIf(about = '{JUDGED}' AND value != '', '{SCORED}', about != '{FOUND}', about, "
        "substring(value, 1, position(value, '=') - 1))"
    )
    text = f"if(about = '{FOUND}', substring(value, position(value, '=') + 1), value)"
    return (
        f"SELECT {{tenant:String}}, '{unit}', 1, {_PLACES}, {facet}, {text}, {', '.join(TERMS)}, "
        f"{generation}, {_expiry('Bucket + 1')} FROM ({sums})"
    )


def _sums(unit: Unit) -> Iterator[str]:
    """Sums of units and of unjudged ones; of units that LLM judges scored; of errors; of LLM judges' errors."""
    of, said = f"arrayJoin([{_WEIGHTS}]) AS of", "arrayJoin(arrayZip(Scored.Judge, Scored.Weight)) AS said"
    least, judges = f"arrayJoin([{_THRESHOLDS}]) AS least", f"'{Population.JUDGES}'"
    missed = "arrayMap(v -> toString(v), Missed)"
    yield sql.sums(_clusters(unit, of, "of.1", "''", "of.2", _NO_VALS, missed=missed), _PLACES, unit)
    yield _unjudged(unit, of)
    yield sql.sums(_clusters(unit, said, judges, "''", "said.2", _NO_VALS, own="toString(said.1)"), _PLACES, unit)
    found = sql.vals("f >= least.2", _VALUES, unit)
    rows = _clusters(unit, f"{of}, {least}", "of.1", "least.1", "of.2", found)
    yield sql.sums(rows, _PLACES, unit, judged=False)
    found = sql.vals(f"f >= least.2 AND {sql.OF_ITS_JUDGE} AND l AND j = said.1", f"[concat('{By.JUDGE}=', j)]", unit)
    rows = _clusters(unit, f"{said}, {least}", judges, "least.1", "said.2", found)
    yield sql.sums(rows, _PLACES, unit, judged=False)


def _clusters(
    unit: Unit,
    joins: str,
    population: str,
    profile: str,
    weight: str,
    vals: str,
    *,
    own: str = "''",
    missed: str = _NONE,
) -> str:
    row = (
        f"SELECT Hour AS Bucket, {_ATTRIBUTES}, {population} AS Population, {profile} AS Profile, {weight} AS W, "
        f"{sql.units(unit)} AS t, {vals} AS vals, {own} AS own, {missed} AS missed FROM ({_facts(unit, joins)})"
    )
    return f"SELECT * FROM ({row}) WHERE W > 0 AND t > 0"


def _unjudged(unit: Unit, of: str) -> str:
    zeros = ", ".join(f"0 AS {term}" for term in list(TERMS)[1:])
    return (
        f"SELECT Hour AS Bucket, {_ATTRIBUTES}, of.1 AS Population, '' AS Profile, '{UNJUDGED}' AS about, "
        f"toString(of.3) AS value, count() AS n, {zeros} FROM ({_facts(unit, of)}) WHERE of.2 = 0 "
        f"GROUP BY {_PLACES}, value"
    )


def _facts(unit: Unit, joins: str) -> str:
    return (
        f"SELECT *, {joins} FROM run_facts FINAL WHERE {TENANT} AND Unit = '{fact_unit(unit, simulated=False)}' "
        "AND Hour IN {buckets:Array(UInt32)}"
    )


def _expiry(hour: str) -> str:
    return f"fromUnixTimestamp64Nano(toInt64({hour}) * {HOUR}, 'UTC')"
