"""What the ranker sees of a span: which families of rules fired there, and where it stands in its run."""

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
    "intent-without-call": "intent",
    "intent-without-call-again": "intent",
    "schema-violation": "schema-made",
    "unknown-tool": "schema-made",
    "schema-violation-read": "read",
    "repeated-failure": "repeated",
    "repeated-failure-read": "repeated",
    "repeated-failure-surveyed": "surveyed",
    "repeated-failure-at-tool": "tool-repeated",
    "query-churn": "churn",
    "query-churn-at-tool": "tool-churn",
    "same-plan-again": "plan-again",
    "plan-relies-on-failed-tool": "plan-again",
    "plan-names-no-tool": "plan-without-tool",
    "plan-needs-missing-interface": "plan-interface",
    "first-tool-differs": "first-tool",
    "planned-tool-never-called": "never-called",
    "early-finish": "early",
    "unfinished-plan": "unfinished",
    "step-limit": "limit",
    "output-limit": "limit",
    "answer-after-failure": "answer",
    "approach-switch": "switch",
    "invented-path": "invented-path",
    "unobserved-answer": "unobserved",
    "fabrication-wording": "made-up",
}
_SUFFIXES: Final = (
    ("-error-page", "error-page"),
    ("-error-at-tool", "tool-failed"),
    ("-error-read", "read"),
    ("-error", "made"),
)
_OWN: Final = frozenset({"not-found-error-page"})
"""Rules that a suffix would give a family of whose cases they are none."""

_SERVICE: Final = frozenset({"service-error-read", "broken-error-read", "not-found-error-read"})
_OF_TOOLS: Final = frozenset({"tool-repeated", "tool-churn", "error-page"})
"""Families of which managers have hardly a case: whose tool it is says nothing there."""

_BY_ROLE: Final = frozenset({"plan-without-tool"})


def family(rule: str) -> str:
    """The feature that a built-in rule counts for; "" for a rule that the calibration does not know."""
    if rule in _OWN:
        return ""
    known = _FAMILY.get(rule)
    return known or next((name for suffix, name in _SUFFIXES if rule.endswith(suffix)), "")


def features(rules: Iterable[str], place: tuple[RunFacts, TurnFacts] | None) -> dict[str, float]:
    """Features of one span, by name: 1.0 for a family that fired there, counts for wordings, and whose span it is.

    `place`: the run and turn of the span, None outside all runs.
    """
    names = set(rules)
    found = {f for rule in names if (f := family(rule))}
    manager = place is not None and place[0].run.role == "manager"
    values = {f"{f}/{'manager' if manager else 'sub-agent'}" if f in _BY_ROLE else f: 1.0 for f in found}
    if "ungrounded" in found and not manager and "ungrounded-after-failure" not in names:
        values["ungrounded-delegate"] = values.pop("ungrounded")
    if "ungrounded-wording" in found:
        values["ungrounded-wording"] = float(sum(family(rule) == "ungrounded-wording" for rule in names))
    if "plan-interface" in found:
        values = {name: value for name, value in values.items() if not name.startswith("plan-without-tool")}
    if "schema-made" in found:
        values.pop("made", None)
    if "tool-repeated" in found or "error-page" in found:
        values.pop("tool-failed", None)
    if names & _SERVICE:
        values["read-service"] = 1.0
    if place is not None and place[1].turn.llm is None and values.pop("tool-failed", 0.0):
        values["made"] = 1.0
    if manager and not found <= _OF_TOOLS:
        values["manager"] = 1.0
    if "file-error" in names and "invented-path" not in names and "read" not in found:
        values["made-given-file"] = 1.0
    return values


def places(ctx: Context) -> dict[str, tuple[RunFacts, TurnFacts]]:
    """Span id (LLM calls and tool calls) to the run and turn that it belongs to."""
    found: dict[str, tuple[RunFacts, TurnFacts]] = {}
    for run in ctx.facts.runs.values():
        for turn in run.turns:
            for call in turn.calls:
                if call.call.span is not None:
                    found[call.call.span.span_id] = (run, turn)
            if turn.span_id:
                found[turn.span_id] = (run, turn)
    return found
