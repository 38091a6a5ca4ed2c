"""tracejury.sdk: what an agent's own process may hold, for traces that are exact and live. See docs/sdk.md.

`set_up` or `LiveProcessor` (spans are announced when they start), `agent`, `task` and `carry` (who is at work, on
what), `judged` (an agent's own tests demand that no error is found; this one needs the whole of tracejury).

Source of two distributions: it stands alone (opentelemetry-sdk is all that it needs), nothing else of tracejury
imports it, and it is the one part of `processors` that owns a thread and hands spans to exporters.
"""

from .judged import JudgedRun, judged
from .names import AGENT_NAME, AGENT_PARENT, TASK_ID
from .outbox import Counts
from .processor import LiveProcessor
from .scope import agent, carry, task
from .set_up import set_up
from .version import __version__

__all__ = [
    "AGENT_NAME",
    "AGENT_PARENT",
    "TASK_ID",
    "Counts",
    "JudgedRun",
    "LiveProcessor",
    "__version__",
    "agent",
    "carry",
    "judged",
    "set_up",
    "task",
]
