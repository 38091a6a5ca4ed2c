"""Wording that frameworks use when they ask a model for a plan, a survey of facts or a closing answer.

The only place of this package that looks at natural language (English). Generic wording first; what only one
framework's prompts say is marked with its name.
"""

from __future__ import annotations

import re
from typing import Final

_MAKE = r"(?:write|develop|make|create|devise|draft|outline|produce|update|revise|propose|generate|come up with)"

PLAN_WORDING: Final = re.compile(rf"\b{_MAKE}\b[^.\n]{{0,60}}\bplan\b", re.IGNORECASE)
FACTS_WORDING: Final = re.compile(
    rf"\b(?:{_MAKE}|build|list|gather\w*|collect\w*)\b[^.\n]{{0,60}}\bfacts\b", re.IGNORECASE
)
ANSWER_WORDING: Final = re.compile(
    r"\b(?:provide|give|write|output|state|formulate)\b[^.\n]{0,30}\b(?:final )?answer to (?:the|this) "
    r"(?:following |original )?(?:user )?(?:task|question|query|request)",
    re.IGNORECASE,
)

STATED_PLAN: Final = re.compile(
    r"(?:^|\n)[ \t#*_]{0,6}(?:(?:my|the|here is my|here's my|updated|new|revised)\s+)?plan\b[^\n]{0,40}"
    r"\n{1,3}\s{0,4}(?:1[.)]|[-*]\s)",
    re.IGNORECASE,
)
"""A plan written down in a reply: a line that announces it, then a list."""

ANSWER_TOOLS: Final = frozenset({"final_answer", "final_result", "finish", "submit", "submit_answer"})
"""Tools by which frameworks let an agent hand over its answer (smolagents, Pydantic AI, DSPy and others)."""
