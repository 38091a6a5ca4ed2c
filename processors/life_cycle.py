"""The life cycle of a trace.

    open        rows may still come: it is judged as it grows, and its findings are provisional
    settled     its roots have ended and nothing came for `quiet`, or it has reached `max_age`: its findings are current
    incomplete  the same without an ended root, after `rootless`
    closed      it was judged in one of these two states, and nothing came since: it leaves memory

A late span opens a closed trace again, which is then read from the store.
"""

from __future__ import annotations

from typing import Final

from tracejury.schemas.trajectory import TraceState

from .assemble import AssemblerConfig
from .open_trace import OpenTrace

LEAST_QUIET: Final = 0.1
"""Of the configured time, where memory is full."""


def quiet(config: AssemblerConfig, held_bytes: int = 0) -> int:
    """How long a trace waits for more (nanos): less where memory is more than half full.

    Else the traces that wait would have to be spilled, and judged whole once more when they settle.
    """
    room = 2 * (1 - held_bytes / config.max_bytes)
    return round(config.quiet * min(max(room, LEAST_QUIET), 1))


def settles_at(trace: OpenTrace, config: AssemblerConfig, held_bytes: int = 0, *, is_ended: bool | None = None) -> int:
    """When the trace is no longer open if nothing comes (unix nanos). `is_ended`: whether its roots have ended."""
    is_ended = trace.root_ended() if is_ended is None else is_ended
    wait = quiet(config, held_bytes) if is_ended else config.rootless
    return min(trace.last_arrival + wait, trace.first_arrival + config.max_age)


def state_at(trace: OpenTrace, now: int, config: AssemblerConfig, held_bytes: int = 0) -> TraceState:
    """Open, settled or incomplete at `now` (unix nanos)."""
    if now < settles_at(trace, config, held_bytes):
        return TraceState.OPEN
    return TraceState.SETTLED if trace.root_ended() else TraceState.INCOMPLETE


def is_closed(trace: OpenTrace) -> bool:
    """Whether it was judged to its end."""
    return trace.state is not TraceState.OPEN and not trace.dirty
