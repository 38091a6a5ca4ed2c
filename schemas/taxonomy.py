"""Categories and dimensions of findings, verbatim from their sources."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

TRAIL: Final = "trail"

TRAIL_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "Hallucination": ("Language-only", "Tool-related"),
    "Information processing": ("Poor Information Retrieval", "Incorrect Memory Usage", "Tool Output Misinterpretation"),
    "Decision making": ("Incorrect Problem Identification", "Tool Selection Errors"),
    "Output generation": ("Formatting Errors", "Instruction Non-compliance"),
    "Configuration": ("Tool Definition Issues", "Environment Setup Errors"),
    "API": ("Rate Limiting", "Authentication Errors", "Service Errors", "Resource Not Found"),
    "Resources": ("Resource Exhaustion", "Timeout Issues"),
    "Context": ("Context Handling Failures", "Resource Abuse"),
    "Tasks": ("Goal Deviation", "Task Orchestration"),
}
"""The leaves of the TRAIL taxonomy by group (Patronus AI, "TRAIL: Trace Reasoning and Agentic Issue Localization").

Hallucination to Output generation are reasoning errors, Configuration to Resources system execution errors, Context and
Tasks planning and coordination errors.
"""

TRAIL_CATEGORIES: Final = tuple(category for group in TRAIL_GROUPS.values() for category in group)
"""Leaves of the TRAIL taxonomy."""


def with_group(taxonomy: str, category: str) -> str:
    """A category for people: with its group, "Hallucination: language-only", or as it is where it has none."""
    if taxonomy != TRAIL:
        return category
    group = next((name for name, leaves in TRAIL_GROUPS.items() if category in leaves), "")
    return f"{group}: {category.lower()}" if group else category


class Dimension(StrEnum):
    """The seven of "What is your agent's GPA?"."""

    PLAN_QUALITY = "PQ"
    PLAN_ADHERENCE = "PA"
    GOAL_FULFILMENT = "GF"
    LOGICAL_CONSISTENCY = "LC"
    EXECUTION_EFFICIENCY = "EE"
    TOOL_SELECTION = "TS"
    TOOL_CALLING = "TC"


DIMENSION_NAMES: Final[Mapping[str, str]] = {d.value: d.name.lower().replace("_", " ") for d in Dimension}
"""For people: "plan adherence" for "PA"."""


class Severity(StrEnum):
    """The severity of a finding; ordered by `rank`."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"

    @property
    def rank(self) -> int:
        """0 for LOW, 1 for MEDIUM, 2 for HIGH."""
        return _RANKS[self]


_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}
