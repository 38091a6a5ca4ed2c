"""Events for webhooks, as values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.findings import Finding

NAME: Final = 1_000
"""Characters of a name: what waits is held in memory, and agents choose how long names are."""
SENT, GIVEN_UP = "sent", "given-up"


class Event(StrEnum):
    """A change of a finding."""

    FOUND = "found"
    RETRACTED = "retracted"


@dataclass(frozen=True, slots=True)
class Found:
    """A finding of any state, with what an event says of its trace. Times in unix nanos.

    `received`: when the newest span that was judged was committed; `task_id`: as the agent's program states it.
    `grades`: the mean ones of the trace's runs by letter of the measure, as far as there are any yet. `ended`: when its
    last span ended.
    """

    finding: Finding
    service: str
    agent: str
    session_id: str
    trace_state: str
    conventions: tuple[str, ...]
    judged_at: int
    received: int
    task_id: str = ""
    grades: Mapping[str, float] = field(default_factory=dict)
    ended: int = 0


@dataclass(frozen=True, slots=True)
class Looked:
    """Findings of some traces, their errors that hold, and in which state each (fingerprint, event) was told."""

    found: tuple[Found, ...]
    told: Mapping[tuple[str, Event], str]
    errors: Sequence[ErrorSummary] = ()


@dataclass(frozen=True, slots=True)
class WebhookNews:
    """An event of an error: `found` speaks for it; `fingerprints` are those of all its findings."""

    event: Event
    found: Found
    error: ErrorSummary
    fingerprints: frozenset[str]


@dataclass(frozen=True, slots=True)
class Delivered:
    """A webhook was told (SENT), or it was GIVEN_UP; `at` in unix nanos; `received` as of the message."""

    webhook: str
    trace_id: str
    fingerprint: str
    event: Event
    state: str
    at: int
    received: int


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """One event for one webhook. `body` is JSON text; `since`: unix nanos from which its age counts.

    `received`: when the newest span that was judged was committed.
    """

    id: str
    trace_id: str
    fingerprint: str
    event: Event
    body: bytes
    since: int
    received: int

    @property
    def key(self) -> tuple[str, Event]:
        """Its key."""
        return self.fingerprint, self.event


def message_id(webhook: str, fingerprint: str, event: Event) -> str:
    """The same for the same event and webhook, whenever it is sent: receivers drop repeats by it."""
    text = f"{webhook} {fingerprint} {event.value}".encode()
    return f"msg_{hashlib.blake2b(text, digest_size=16).hexdigest()}"
