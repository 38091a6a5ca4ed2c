"""The ranker's features of a span: the families of rules that fired there, and its place in the run.

Few families on purpose: rules of a like precision on the annotated traces share a weight, which holds better on traces
that the table has not seen than a weight for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .base import Context
from .facts import RunFacts, TurnFacts

_FAMILY: Final[Mapping[str, str]] = {
    "ungrounded-turn": "ungrounded",
    "ungrounded-no-call": "ungrounded",
    "ungrounded-after-failure": "ungrounded",
    "ungrounded-plan": "ungrounded",
    "ungrounded-assumption": "ungrounded-wording",
    "ungrounded-simulation": "ungrounded-wording",
    "ungrounded-recall": "ungrounded-wording",
    "ungrounded-claimed-verification": "ungrounded-wording",
    "ungrounded-tool-claim": "ungrounded-wording",
    "schema-violation-read": "read",
    "repeated-failure": "repeated",
    "repeated-failure-read": "repeated",
    "approach-switch": "strong",
    "early-finish": "strong",
    "first-tool-differs": "strong",
    "invented-path": "strong",
    "output-limit": "strong",
    "step-limit": "strong",
    "unobserved-answer": "strong",
    "answer-after-failure": "plain",
    "fabrication-wording": "plain",
    "intent-without-call": "plain",
    "intent-without-call-again": "plain",
    "plan-needs-missing-interface": "plain",
    "schema-violation": "plain",
    "plan-relies-on-failed-tool": "weak",
    "planned-tool-never-called": "weak",
    "query-churn-at-tool": "weak",
    "repeated-failure-at-tool": "weak",
    "repeated-failure-surveyed": "weak",
    "same-plan-again": "weak",
    "unfinished-plan": "weak",
    "plan-names-no-tool": "very-weak",
    "query-churn": "very-weak",
}
_SUFFIXES: Final = (
    ("-error-page", "strong"),
    ("-error-at-tool", "very-weak"),
    ("-error-read", "read"),
    ("-error", "plain"),
)
_OWN: Final = frozenset({"not-found-error-page"})
"""Rules that a suffix would give a family of whose cases they are none."""

_SERVICE: Final = frozenset({"service-error-read", "broken-error-read", "not-found-error-read"})

_PLAINLY_MADE_UP: Final = frozenset({"ungrounded-after-failure", "ungrounded-assumption", "ungrounded-simulation"})
"""Without one of these, a sub-agent that is ungrounded may have been given its data with the task."""

PLAIN: Final = "plain"
"""The family without a weight: what its rules say is as sure as the bias and the place make it."""


def family(rule: str) -> str:
    """The family that a built-in rule belongs to; "" for a rule that the calibration does not know."""
    if rule in _OWN:
        return ""
    known = _FAMILY.get(rule)
    return known or next((name for suffix, name in _SUFFIXES if rule.endswith(suffix)), "")


def features(rules: Iterable[str], place: tuple[RunFacts, TurnFacts] | None) -> dict[str, float]:
    """Features of one span, by name: 1.0 for a family that fired there, counts for wordings, and whose span it is.

    `place`: the run and turn of the span, None outside all runs.
    """
    names = _telling(set(rules), place)
    values = dict.fromkeys({f for rule in names if (f := family(rule))} - {PLAIN}, 1.0)
    manager = place is not None and place[0].run.role == "manager"
    if "ungrounded" in values and not manager and not names & _PLAINLY_MADE_UP:
        values["ungrounded-delegate"] = values.pop("ungrounded")
    if "ungrounded-wording" in values:
        values["ungrounded-wording"] = float(sum(family(rule) == "ungrounded-wording" for rule in names))
    if names & _SERVICE:
        values["read-service"] = 1.0
    if manager and any(family(rule) and not _of_tools(rule) for rule in names):
        values["manager"] = 1.0
    return values


def _telling(names: set[str], place: tuple[RunFacts, TurnFacts] | None) -> set[str]:
    """The rules without those of which another one at the span says more."""
    if "plan-needs-missing-interface" in names:
        names = names - {"plan-names-no-tool"}
    at_tool = {rule for rule in names if rule.endswith("-error-at-tool")}
    if any(_of_tools(rule) and rule != "query-churn-at-tool" for rule in names):
        return names - at_tool
    # Without an LLM call the tool's span is the only place for the error.
    if place is not None and place[1].turn.llm is None and at_tool:
        return (names - at_tool) | {"raised-error"}
    return names


def _of_tools(rule: str) -> bool:
    """Of these, managers have hardly a case: whose tool it is says nothing there."""
    return rule in ("repeated-failure-at-tool", "query-churn-at-tool") or rule.endswith("-error-page")


def places(ctx: Context) -> dict[str, tuple[RunFacts, TurnFacts]]:
    """Span id (LLM calls and tool calls) to the run and turn that it belongs to."""
    found: dict[str, tuple[RunFacts, TurnFacts]] = {}
    for run in ctx.facts.values():
        for turn in run.turns:
            for call in turn.calls:
                if call.call.span is not None:
                    found[call.call.span.span_id] = (run, turn)
            if turn.span_id:
                found[turn.span_id] = (run, turn)
    return found
