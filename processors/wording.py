"""Wording that frameworks use when they ask a model for a plan, a survey of facts or a closing answer.

The only place of this package that looks at natural language (English). Generic wording first; what only one
framework's prompts say is marked with its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tracejury.schemas.trajectory import TurnKind

_MAKE: Final = (
    r"write|develop|make|create|devise|draft|outline|produce|update|updating|revise|propose|generate|come up with"
)

# The verb's first object counts: "develop a plan from the list of facts" asks for a plan.
_TO: Final = r"(?:(?!\b(?:plan|facts|answer)\b)[^.\n])*"

WANTED: Final[Mapping[TurnKind, tuple[str, re.Pattern[str]]]] = {
    TurnKind.PLAN: ("plan", re.compile(rf"\b(?:{_MAKE})\b{_TO}\bplan\b")),
    TurnKind.FACTS: (
        "facts",
        re.compile(rf"\b(?:{_MAKE}|build|list (?:here )?(?:the|all|any|every)|gather\w*|collect\w*)\b{_TO}\bfacts\b"),
    ),
    TurnKind.ANSWER: (
        "answer",
        re.compile(rf"\b(?:provide|give|write|output|state|formulate)\b{_TO}\banswer (?:to|for) (?:the|this)\b"),
    ),
}
"""Requests of a prompt: a word, and the wording (lower case) that must stand within 80 characters around it."""

ANSWER_TOOLS: Final = frozenset({"final_answer", "final_result", "finish", "submit", "submit_answer"})
"""Tools by which frameworks let an agent hand over its answer (smolagents, Pydantic AI, DSPy and others)."""

PLANNING_STEPS: Final = frozenset(
    {"plan", "planner", "planning", "planning_step", "plan_step", "make_plan", "create_plan", "replan", "replanner"}
)
"""Names of steps (canonical) that are there to plan."""

RESULT_LABEL: Final = re.compile(
    r"[\s\[(<*#>-]{0,8}(?:exit ?code|return ?code|exit status|observations?|execution (?:logs?|results?|output)|"
    r"(?:code |terminal |command )?output|stdout|stderr|traceback|result|error)\b\s{0,2}(?:[:=(>\]]|\n)",
    re.IGNORECASE,
)
"""The beginning of a message in which a harness hands back what a code block printed."""
