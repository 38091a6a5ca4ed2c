"""The identity in OpenTelemetry's baggage: an agent, the agent that started it, a task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from opentelemetry import baggage
from opentelemetry.context import Context

from .names import AGENT_NAME, AGENT_PARENT, TASK_ID

MOST: Final = 512
"""Characters of a value that are carried: baggage goes out with every request of the program (W3C: 8 KiB in all)."""


class Identity(NamedTuple):
    """Names, "" where none was given."""

    agent: str = ""
    parent: str = ""
    task: str = ""

    def below(self, agent: str = "", task: str = "") -> Identity:
        """The identity after `agent` was started here ("": the same agent), on `task` ("": the same)."""
        task = task[:MOST] or self.task
        return Identity(agent[:MOST], self.agent, task) if agent else Identity(self.agent, self.parent, task)

    @property
    def attributes(self) -> Mapping[str, str]:
        """The identity as span attributes."""
        return _attributes(self)


NOBODY: Final = Identity()
"""The identity where none was given."""

_KEYS: Final = (AGENT_NAME, AGENT_PARENT, TASK_ID)


def read(context: Context | None = None) -> Identity:
    """The identity in the baggage of `context` (None: the current one)."""
    said = baggage.get_all(context)
    if not said:
        return NOBODY
    return Identity(_text(said.get(AGENT_NAME)), _text(said.get(AGENT_PARENT)), _text(said.get(TASK_ID)))


@lru_cache(1024)
def _attributes(identity: Identity) -> Mapping[str, str]:
    return {key: value for key, value in zip(_KEYS, identity, strict=True) if value}


def _text(value: object) -> str:
    return value[:MOST] if isinstance(value, str) else ""


def written(identity: Identity, context: Context | None = None) -> Context:
    """The context (None: the current one) with that identity in its baggage."""
    found = baggage.set_baggage(AGENT_NAME, "", context)  # never None below
    for key, value in zip(_KEYS, identity, strict=True):
        found = baggage.set_baggage(key, value, found) if value else baggage.remove_baggage(key, found)
    return found
