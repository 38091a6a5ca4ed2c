"""Attribute and baggage keys that a program sets, in any language.

The reader of them stands in tracejury.processors.normalize.stated; this package is also installed without it.
"""

from __future__ import annotations

from typing import Final

AGENT_NAME: Final = "tracejury.agent.name"
"""The agent that a span belongs to."""
AGENT_PARENT: Final = "tracejury.agent.parent"
"""The name of the agent that started this one."""
TASK_ID: Final = "tracejury.task.id"
"""The attribute that ties the spans of one task together, over several traces, processes and services."""
PENDING: Final = "tracejury.pending"
"""True on a copy that announces a span which has not ended; a finished span replaces it."""
SCOPE: Final = "tracejury.sdk"
"""Instrumentation scope of the spans that `agent` opens."""
