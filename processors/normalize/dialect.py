"""Senders that write OpenTelemetry GenAI's keys in a way of their own, beside what shows who they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.spans import LogRecord, Span

from .convention import MarkedConvention
from .genai import GenAI

GENAI: Final = GenAI()


class Dialect(MarkedConvention):
    """A sender that reads its GenAI keys itself: where it recognises a span, `GenAI` does not read that too.

    What such a key says elsewhere may be wrong here (an operation "chat" for a prompt template), and of two readings
    the wrong one could lead. `scopes`: its instrumentation scopes; `names`: how the names of its spans begin.
    """

    scopes: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """See `Convention`."""
        return span.scope_name in self.scopes or span.name.startswith(self.names) or super().recognises(span, logs)
