"""What a program's traces show of it, what they lack, and what mends that."""

from .diagnosis import AgentSummary, Diagnosis, Gap, Remedy, ToolSummary
from .examine import diagnose
from .external_run import ExternalRun

__all__ = ["AgentSummary", "Diagnosis", "ExternalRun", "Gap", "Remedy", "ToolSummary", "diagnose"]
