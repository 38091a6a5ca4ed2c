"""What comes back from a backend that we forward to: tracestates are restored, our own opinions left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tracejury.schemas.batch import Batch, Sink
from tracejury.schemas.given_scores import is_evaluation
from tracejury.schemas.spans import LogRecord, Span

from .marks import FORWARDED_BY, as_it_came, bears


@dataclass(frozen=True, slots=True)
class ReturnedSpans:
    """A `Sink` in front of another one. `installation`: our own id, as in the mark.

    Our own `ot=th` says how few of the healthy traces we have passed on, and here all of them are: counted with it, a
    trace that came back would stand for many that are counted themselves.
    """

    sink: Sink
    installation: str

    async def submit(self, batch: Batch) -> int:
        """See `Sink`."""
        if any(FORWARDED_BY in span.attributes for span in batch.spans):
            batch = replace(batch, spans=tuple(map(self._restored, batch.spans)))
        if any(FORWARDED_BY in record.attributes for record in batch.logs):
            batch = replace(batch, logs=[record for record in batch.logs if not self._is_ours(record)])
        return await self.sink.submit(batch)

    def _is_ours(self, record: LogRecord) -> bool:
        """Whether it states an opinion of ours. Whoever forges the mark takes out a score of their own."""
        return is_evaluation(record) and bears(record.attributes.get(FORWARDED_BY, ""), self.installation)

    def _restored(self, span: Span) -> Span:
        mark = span.attributes.get(FORWARDED_BY)
        state = as_it_came(span.trace_state, mark, self.installation) if mark else span.trace_state
        return span if state == span.trace_state else replace(span, trace_state=state)
