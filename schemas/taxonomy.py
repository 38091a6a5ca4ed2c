"""Categories and dimensions of findings, verbatim from their sources."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

TRAIL: Final = "trail"

TRAIL_CATEGORIES: Final = (
    "Language-only",
    "Tool-related",
    "Poor Information Retrieval",
    "Incorrect Memory Usage",
    "Tool Output Misinterpretation",
    "Incorrect Problem Identification",
    "Tool Selection Errors",
    "Formatting Errors",
    "Instruction Non-compliance",
    "Tool Definition Issues",
    "Environment Setup Errors",
    "Rate Limiting",
    "Authentication Errors",
    "Service Errors",
    "Resource Not Found",
    "Resource Exhaustion",
    "Timeout Issues",
    "Context Handling Failures",
    "Resource Abuse",
    "Goal Deviation",
    "Task Orchestration",
)
"""Leaves of the TRAIL taxonomy (Patronus AI, "TRAIL: Trace Reasoning and Agentic Issue Localization")."""


class Dimension(StrEnum):
    """The seven of "What is your agent's GPA?"."""

    PLAN_QUALITY = "PQ"
    PLAN_ADHERENCE = "PA"
    GOAL_FULFILMENT = "GF"
    LOGICAL_CONSISTENCY = "LC"
    EXECUTION_EFFICIENCY = "EE"
    TOOL_SELECTION = "TS"
    TOOL_CALLING = "TC"


class Severity(StrEnum):
    """The severity of a finding; ordered by `rank`."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"

    @property
    def rank(self) -> int:
        """0 for LOW, 1 for MEDIUM, 2 for HIGH."""
        return list(Severity).index(self)
