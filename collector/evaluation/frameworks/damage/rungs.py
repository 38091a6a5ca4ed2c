"""The rungs of the ladder, each with its goals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from tracejury.schemas.batch import Batch

from . import call_ids, copies, genai_content, lost_spans, own_traces, parents
from .grammars import GRAMMARS
from .recording import Recording
from .text_loop import as_text


@dataclass(frozen=True, slots=True)
class Rung:
    """One kind of damage; `calls`, `found`: the shares of calls right and of injected faults found to reach."""

    name: str
    damage: Callable[[Recording], Batch | None]
    calls: float = 0.95
    found: float = 0.90


def _undamaged(of: Recording) -> Batch:
    return Batch(of.raw, of.logs)


RUNGS: Final[tuple[Rung, ...]] = (
    Rung("undamaged", _undamaged),
    Rung("agent spans dropped", lost_spans.without_agents),
    Rung("tool spans dropped", lost_spans.without_tools),
    Rung("roots dropped", lost_spans.without_roots),
    Rung("parents dropped", parents.dangling),
    Rung("parent in another trace", parents.of_another_trace),
    Rung("LLM spans below their predecessor", parents.below_predecessor),
    Rung("a trace for each span, one session", own_traces.own_traces),
    Rung("exported twice, same ids", copies.same_ids),
    Rung("exported twice, new ids", copies.new_ids),
    Rung("no call ids", call_ids.without_call_ids),
    Rung("content in GenAI attributes", genai_content.in_attributes, 0.90, 0.85),
    Rung("content in span events", genai_content.in_events, 0.90, 0.85),
    Rung("content in log records", genai_content.in_logs, 0.90, 0.85),
    Rung("log records alone", genai_content.logs_alone, 0.90, 0.85),
    *(Rung(f"calls as text, {name}", partial(as_text, grammar=g), 0.90, 0.85) for name, g in GRAMMARS.items()),
)
