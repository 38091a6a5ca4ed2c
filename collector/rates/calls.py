"""Rates of tools: the share of a tool's own calls at which something was found. Read from facts; blocks.

A call is recorded by its own span, by the LLM span that asked for it, or by both: of both counts in a trace the larger
one is that of its calls, and likewise of those with a finding. The calls of one trace are a cluster, for they fail
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.derived.facts import NAME
from tracejury.collector.store.derived.fold import ABOUT_TOOLS
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.findings import BESIDE
from tracejury.schemas.rates import Population, Sums
from tracejury.schemas.verdicts import DETECTORS

from .question import Question
from .sql import TERMS, WEIGHT, of_facts, parameters


@dataclass(frozen=True, slots=True)
class CallSums:
    """The calls of a tool; `tools`: how many tools have a call with a finding."""

    tool: str
    sums: Sums
    tools: int


_OF_POPULATION: Final = {
    Population.DETECTORS: f"JudgedBy = '{DETECTORS}'",
    Population.JUDGES: f"JudgedBy != '{DETECTORS}'",
    Population.BOTH: "1",
}
_ABOUT: Final = f"hasAny(Dimensions, {[dimension.value for dimension in sorted(ABOUT_TOOLS)]})"
_SURE: Final = "Confidence >= if(Known, {recognised:Float64}, {unrecognised:Float64})"


def calls_by_tool(store: Store, q: Question, limit: int) -> list[CallSums]:
    """Of judged traces, the tools with the highest share of calls with a finding, the worst first.

    `q`: of traces; its time, population, confidence and attributes of runs count, of which a trace has those of its
    first manager.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    rows = Scope(store, q.tenant).select(_statement(q), **parameters(q), limit=limit)
    return [CallSums(tool, Sums(**dict(zip(TERMS, terms, strict=True))), tools) for tool, tools, *terms in rows]


def _statement(q: Question) -> str:
    weight = WEIGHT[q.population]
    facts = f"SELECT TraceId, Known, Parts, {weight} AS W FROM run_facts FINAL WHERE {of_facts(q)} AND {weight} > 0"
    # Where the finding showed, else where it was made; and the LLM span of one that is about what was asked for.
    found = (
        "SELECT TraceId, if(ToolSpanId = '', SpanId, ToolSpanId) AS Place, "
        f"if({_ABOUT}, SpanId, '') AS Wish, Confidence FROM findings FINAL "
        f"WHERE {TENANT} AND State = 'current' AND {_OF_POPULATION[q.population]} AND NOT {BESIDE} "
        f"AND TraceId IN (SELECT arrayJoin(Parts) FROM ({facts}))"
    )
    marks = (
        "SELECT whole.TraceId AS Head, groupUniqArray(Place) AS Places, groupUniqArray(Wish) AS Wishes "
        f"FROM (SELECT TraceId, Known, arrayJoin(Parts) AS Part FROM ({facts})) AS whole "
        f"INNER JOIN ({found}) AS found ON found.TraceId = whole.Part WHERE {_SURE} GROUP BY Head"
    )
    calls = (
        f"SELECT TraceId AS Of, SpanId AS Span, substringUTF8(Tool, 1, {NAME}) AS Name, Asked AS Wished FROM "
        f"(SELECT TraceId, Calls.SpanId, Calls.Tool, Calls.Asked FROM traces FINAL WHERE {TENANT} "
        f"AND TraceId IN (SELECT TraceId FROM ({facts}))) "
        "ARRAY JOIN Calls.SpanId AS SpanId, Calls.Tool AS Tool, Calls.Asked AS Asked WHERE Tool != ''"
    )
    clusters = (
        "SELECT Name, any(W) AS W, greatest(countIf(NOT Wished), countIf(Wished)) AS t, "
        "greatest(countIf(NOT Wished AND has(Places, Span)), countIf(Wished AND has(Wishes, Span))) AS b, b AS y "
        f"FROM ({calls}) AS call INNER JOIN (SELECT TraceId, W FROM ({facts})) AS fact ON fact.TraceId = call.Of "
        f"LEFT JOIN ({marks}) AS marks ON marks.Head = call.Of GROUP BY Of, Name"
    )
    terms = ", ".join(f"{text} AS {name}" for name, text in TERMS.items())
    return (
        f"SELECT Name, count() OVER (), {', '.join(TERMS)} FROM (SELECT Name, {terms} FROM ({clusters}) GROUP BY Name) "
        "WHERE hits > 0 ORDER BY wb / wt DESC, hits DESC, Name LIMIT {limit:UInt64}"
    )
