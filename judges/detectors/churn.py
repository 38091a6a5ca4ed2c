"""Asking nearly the same again although it has been answered: churned free-text queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.names import Role
from tracejury.judges.phrases import times
from tracejury.judges.quoting import quote_call, quote_executed, values_of
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.normalized import Json
from tracejury.schemas.trajectory import ToolCall

CHURNED: Final = 2
"""Similar free-text queries under one plan that count as churning."""

ALIKE: Final = 0.3
"""Share of words that two queries have in common (Jaccard) from which they are alike."""


def free_text(arguments: Json) -> str:
    """The one long free text among a call's arguments ("" where there is none): a query, not an address or a path."""
    texts = [v for v in values_of(arguments) if isinstance(v, str) and v.count(" ") >= _LEAST_SPACES and "://" not in v]
    return max(texts, key=len, default="")


_LEAST_SPACES: Final = 2


def alike(one: str, other: str) -> bool:
    """Whether two queries share at least ALIKE of their words and do not each name a thing that the other does not."""
    a, b = set(one.split()), set(other.split())
    if _names(a - b) and _names(b - a):
        return False
    low_a, low_b = {w.lower() for w in a}, {w.lower() for w in b}
    return bool(a and b) and len(low_a & low_b) / len(low_a | low_b) >= ALIKE


def _names(words: set[str]) -> bool:
    return any(word[:1].isupper() or word[:1].isdigit() for word in words)


@dataclass(frozen=True, slots=True)
class _Query:
    """A call with a free text; `others`: its other arguments."""

    turn: TurnFacts
    call: ToolCall
    text: str
    others: Mapping[str, Any]

    def is_like(self, other: _Query) -> bool:
        """Whether two calls of a tool ask nearly the same of the same things.

        Any other argument that both have names a thing; one that only one of them has is a filter.
        """
        a, b = self.others, other.others
        return alike(self.text, other.text) and all(a[key] == b[key] for key in a.keys() & b.keys())


def _churn_runs(facts: RunFacts) -> Iterator[tuple[int, _Query]]:
    """Queries of one tool under one plan, each like an earlier one of them: their number, and the last."""
    groups: dict[tuple[int, str], list[_Query]] = {}
    for query in _queries(facts):
        group = groups.setdefault((facts.plan_at[query.turn.position], query.call.name), [])
        if not group or any(map(query.is_like, group[-_LOOK_BACK:])):
            group.append(query)
    return ((len(group), group[-1]) for group in groups.values() if len(group) >= CHURNED)


_LOOK_BACK: Final = 4


def _queries(facts: RunFacts) -> Iterator[_Query]:
    for turn, made in facts.calls:
        call = made.call
        if not turn.acting or made.role is not Role.ACCESS or call.sub_run_id or made.ran is False:
            continue
        if text := free_text(call.arguments):
            known = call.arguments.items() if isinstance(call.arguments, Mapping) else ()
            yield _Query(turn, call, text, {key: value for key, value in known if value not in (None, text)})


def _churn(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for number, query in facts.once(_churn_runs):
        text = f"{query.call.name} is asked for nearly the same {times(number)} under one plan."
        yield Hit(query.turn.span_id, quote_call(query.turn.turn, query.call), text)


def _churn_at_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for number, query in facts.once(_churn_runs):
        if (span := query.call.span) is not None:
            text = f"{query.call.name} is asked for nearly the same {times(number)} under one plan."
            yield Hit(span.span_id, quote_executed(span, query.call), text, tool_span_id=span.span_id)


RULES: Final = (
    rule(
        "query-churn",
        "Resource Abuse",
        "EE TC",
        "LOW",
        _churn,
        version=3,
        title="Nearly the same query again",
        scope="run",
    ),
    rule(
        "query-churn-at-tool",
        "Resource Abuse",
        "EE TC",
        "LOW",
        _churn_at_tool,
        version=3,
        title="Nearly the same query again",
        scope="run",
    ),
)
