"""Attributes by which a program names its agents and tasks, read on spans of any convention.

They stand on every span of an agent (docs/sdk.md). What a span's own convention says of its agent outranks them: a
framework's sub-agent may well run inside a part of the program that was given a name as a whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...schemas.normalized import Kind, NormalizedSpan

AGENT_NAME: Final = "tracejury.agent.name"
AGENT_PARENT: Final = "tracejury.agent.parent"
TASK_ID: Final = "tracejury.task.id"


def with_stated(span: NormalizedSpan) -> NormalizedSpan:
    """The span with the agent, the parent agent and the task that its plain attributes name.

    An AGENT span keeps the name that its convention reads, even an empty one: the attribute names the agent that the
    span belongs to, and a sub-agent's own span may belong to its manager.
    """
    attributes = span.raw.attributes
    name, parent, task = (attributes.get(key, "").strip() for key in (AGENT_NAME, AGENT_PARENT, TASK_ID))
    if not (name or parent or task):
        return span
    own_name = span.agent_name if span.agent_name or span.agent_hint or span.kind is Kind.AGENT else name
    return replace(span, agent_name=own_name, agent_parent=parent, task_id=task)
