"""The class of cause of a finding: a closed table of rules and judges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from tracejury.schemas.agent_errors import Cause, error_id
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import TRAIL, Dimension

_DIMENSIONS: Final[Mapping[Dimension, Cause]] = {
    Dimension.PLAN_QUALITY: Cause.PLAN,
    Dimension.PLAN_ADHERENCE: Cause.ADHERENCE,
    Dimension.GOAL_FULFILMENT: Cause.GOAL,
    Dimension.LOGICAL_CONSISTENCY: Cause.SUPPORT,
    Dimension.EXECUTION_EFFICIENCY: Cause.WASTE,
    Dimension.TOOL_SELECTION: Cause.TOOL_CHOICE,
    Dimension.TOOL_CALLING: Cause.FAILED_CALL,
}

_JUDGES: Final[Mapping[str, Cause]] = {
    "plan-quality": _DIMENSIONS[Dimension.PLAN_QUALITY],
    "plan-adherence": _DIMENSIONS[Dimension.PLAN_ADHERENCE],
    "goal-fulfilment": _DIMENSIONS[Dimension.GOAL_FULFILMENT],
    "logical-consistency": _DIMENSIONS[Dimension.LOGICAL_CONSISTENCY],
    "execution-efficiency": _DIMENSIONS[Dimension.EXECUTION_EFFICIENCY],
    "tool-selection": _DIMENSIONS[Dimension.TOOL_SELECTION],
    "tool-calling": _DIMENSIONS[Dimension.TOOL_CALLING],
}
"""By LLM judge, one a dimension."""

_OF_SYSTEMS: Final = frozenset(
    {
        "Environment Setup Errors",
        "Rate Limiting",
        "Authentication Errors",
        "Service Errors",
        "Resource Not Found",
        "Timeout Issues",
    }
)
"""Categories of TRAIL's "System Execution Errors" that say of any dimension that a call failed."""

_KINDS: Final = "file|parse|no-result|import|code|raised|limit|timeout|rate|auth|not-found|service|broken"

_RULES: Final[tuple[tuple[Cause, str], ...]] = (
    (Cause.MODEL, "model-(rate|timeout|auth|limit|service)|output-limit"),
    (Cause.ENDING, "step-limit|call-limit|run-(limit|timeout|cancelled|crashed)|empty-answer"),
    (Cause.FAILED_CALL, f"({_KINDS})-error(-read|-at-tool|-page)?"),
    (Cause.FAILED_CALL, "repeated-failure(-read|-surveyed|-at-tool)?|identical-failure|schema-violation(-read)?"),
    (Cause.FAILED_CALL, "unknown-tool|malformed-arguments|call-refused|lost-result|mistyped-argument|invented-path"),
    (Cause.FAILED_CALL, "execution-failed|patch-not-applied"),
    (Cause.OMITTED_CALL, "intent-without-call(-again)?"),
    (
        Cause.SUPPORT,
        "ungrounded-(turn|no-call|after-failure|tool-claim|plan|assumption|simulation|recall|claimed-verification)",
    ),
    (Cause.SUPPORT, "unobserved-answer|fabrication-wording|answer-after-failure|entity-altered"),
    (Cause.SUPPORT, "claimed-action|unsupported-detail|result-contradicted"),
    (Cause.CHECK, "tests-claimed|edit-unchecked"),
    (Cause.WASTE, "query-churn(-at-tool)?|identical-call|identical-cycle|identical-step|execution-empty|runaway"),
    (Cause.PLAN, "plan-(names-no-tool|needs-missing-interface|relies-on-failed-tool)|same-plan-again"),
    (Cause.SESSION, "scope-(bad|situation)"),
    (Cause.ADHERENCE, "first-tool-differs|planned-tool-never-called|unfinished-plan|early-finish|approach-switch"),
)
"""By names of rules, those of earlier versions among them; each in full."""

_COMPILED: Final = tuple((cause, re.compile(names)) for cause, names in _RULES)

FAILING: Final = frozenset({Cause.FAILED_CALL, Cause.MODEL, Cause.ENDING})
"""Classes of which all that name one call are about its failure."""


GENERAL: Final = frozenset({"ungrounded-turn"})
"""Rules that hold wherever another rule of their family does, and so say the least of an error."""


OF_THE_TOOL: Final = {
    f"{kind}-error": f"{kind}-error-at-tool" for kind in ("service", "timeout", "rate", "auth", "raised")
}
"""Rules on failures in which the caller did nothing wrong, to those that name the same failure at the tool."""


def cause_of(finding: Finding) -> str:
    """The class of a finding; of a judge of one's own its taxonomy and category."""
    return cause(finding.judge, finding.taxonomy, finding.category)


def shared_causes(finding: Finding) -> tuple[Cause, ...]:
    """The classes of the errors of others that a pack's finding may be part of: those of its dimensions."""
    return tuple(_DIMENSIONS[dimension] for dimension in finding.dimensions)


def led_by(finding: Finding) -> str:
    """The id of the error that the finding leads, or would lead."""
    return error_id(finding, cause_of(finding))


def cause(judge: str, taxonomy: str, category: str) -> str:
    """The class by a judge's name, and the taxonomy and category of what it found."""
    if judge in _JUDGES:
        if taxonomy == TRAIL and category in _OF_SYSTEMS:
            return Cause.FAILED_CALL
        return _JUDGES[judge] if taxonomy == TRAIL else f"{taxonomy}/{category}"
    return _of_rule(judge) or f"{taxonomy}/{category}"


@lru_cache(maxsize=1024)
def _of_rule(name: str) -> Cause | None:
    return next((one for one, names in _COMPILED if names.fullmatch(name)), None)
