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
