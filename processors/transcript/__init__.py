"""An agent run, or a session, as text for a judge."""

from .chapters import split
from .group_record import group_record
from .limits import UNCUT, TranscriptLimits
from .paper import paper_plan_views, paper_transcript
from .plans import plan_views
from .session_record import session_record, upto
from .transcribe import outline, transcribe

__all__ = [
    "UNCUT",
    "TranscriptLimits",
    "group_record",
    "outline",
    "paper_plan_views",
    "paper_transcript",
    "plan_views",
    "session_record",
    "split",
    "transcribe",
    "upto",
]
