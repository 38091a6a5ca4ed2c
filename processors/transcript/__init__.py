"""An agent run as text for a judge."""

from .chapters import split
from .limits import TranscriptLimits
from .plans import plan_views
from .transcribe import outline, transcribe

__all__ = ["TranscriptLimits", "outline", "plan_views", "split", "transcribe"]
