"""The JSON state of the world before and after a session, as a harness emits it as attributes of spans."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tracejury.schemas.spans import Span

BEFORE: Final = "tracejury.state.before"
AFTER: Final = "tracejury.state.after"
MISSING: Final = object()
"""What was not observed, or is not there."""


@dataclass(frozen=True, slots=True)
class States:
    """A state before and after; `MISSING` where it was not observed."""

    before: Any = MISSING
    after: Any = MISSING


UNOBSERVED: Final = States()


def emitted(spans: Iterable[Span]) -> States:
    """What the harness emits: before of the span that began first, after of the one that ended last."""
    ordered = sorted(spans, key=lambda span: (span.start, span.span_id))
    before = [s.attributes[BEFORE] for s in ordered if BEFORE in s.attributes]
    ended = sorted(ordered, key=lambda span: span.end)
    after = [s.attributes[AFTER] for s in ended if AFTER in s.attributes]
    return States(read_json(before[0]) if before else MISSING, read_json(after[-1]) if after else MISSING)


def read_json(text: str) -> Any:
    """The value of a JSON text; `MISSING` where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return MISSING
