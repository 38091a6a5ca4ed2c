"""Attributes by which a program names its agents and tasks, read on spans of any convention.

They stand on every span of an agent (docs/sdk.md). What a span's own convention says of its agent outranks them: a
framework's sub-agent may well run inside a part of the program that was given a name as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracejury.schemas.normalized import Kind

from .convention import Fields

AGENT_NAME: Final = "tracejury.agent.name"
AGENT_PARENT: Final = "tracejury.agent.parent"
TASK_ID: Final = "tracejury.task.id"
SESSION: Final = "session.id"  # of OpenTelemetry's general conventions


def add_stated(found: Fields, attributes: Mapping[str, str]) -> None:
    """Add to a span's fields the agent, the parent agent and the task that its plain attributes name.

    An AGENT span keeps the name that its convention reads, even an empty one: the attribute names the agent that the
    span belongs to, and a sub-agent's own span may belong to its manager.
    """
    if AGENT_NAME not in attributes and AGENT_PARENT not in attributes and TASK_ID not in attributes:
        return
    name, parent, task = (attributes.get(key, "").strip() for key in (AGENT_NAME, AGENT_PARENT, TASK_ID))
    if not (name or parent or task):
        return
    if not (found.get("agent_name") or found.get("agent_hint") or found["kind"] is Kind.AGENT):
        found["agent_name"] = name
    found["agent_parent"], found["task_id"] = parent, task
