"""The parts that every role of a collector process has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.config import CollectorConfig
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.health import StoreHealth
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import Listeners

Stop = Callable[[float], Awaitable[object]]
"""Ends a part within so many seconds."""


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """The parts that those of each role are built on, over an open store.

    Attributes:
        secret: the installation's.
        clock: unix nanos.
        listeners: told of every judgement of this process.
        stops: what ends the parts started so far; the last one is called first.
    """

    config: CollectorConfig
    store: SharedStore
    health: StoreHealth
    telemetry: Telemetry
    keyring: Keyring
    secret: bytes
    dead_letters: DeadLetterFolder
    clock: Callable[[], int]
    listeners: Listeners
    stops: list[Stop] = field(default_factory=list)


def on_a_thread(stop: Callable[[float], object]) -> Stop:
    """A blocking stop function, called on a thread."""
    return lambda deadline: asyncio.to_thread(stop, deadline)
