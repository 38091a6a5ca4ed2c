"""Diagnosis of a program's instrumentation: what its traces show, what they lack, and the remedies."""

from .diagnosis import AgentSummary, Diagnosis, Gap, Remedy, ToolSummary
from .examine import diagnose
from .facts import ExternalRun

__all__ = ["AgentSummary", "Diagnosis", "ExternalRun", "Gap", "Remedy", "ToolSummary", "diagnose"]
