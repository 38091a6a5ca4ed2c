"""What a program's traces show of it, what they lack, and what mends that."""

from .diagnosis import AgentSeen, Diagnosis, Gap, Remedy, ToolSeen
from .elsewhere import Elsewhere
from .examine import diagnose

__all__ = ["AgentSeen", "Diagnosis", "Elsewhere", "Gap", "Remedy", "ToolSeen", "diagnose"]
