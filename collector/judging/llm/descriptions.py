"""The architecture description of each service: derived from its trajectories as they come, or written by the user."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from cachetools import LRUCache

from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.judges.llm.case import NO_DESCRIPTION, ServiceDescription
from tracejury.processors.architecture import DerivedArchitecture as Derived
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.llm_rows import Source
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState

log = logging.getLogger(__name__)

DERIVED_AT: Final = (1, 5, 25, 125, 625)
"""Numbers of traces seen after which a description is derived anew: often at first, then it should rest."""
ENOUGH: Final = 25
MAX_SERVICES: Final = 1000
MAX_PINNED: Final = 10_000


@dataclass(slots=True)
class _Service:
    """`new`: nothing was stored of it when this process first saw it."""

    new: bool
    derived: Derived = field(default_factory=Derived)
    seen: int = 0


class Descriptions:
    """Descriptions by project and service, bounded, least recently used out first. Any thread; blocks.

    A description changes what every prompt begins with, so all runs of a trace are shown the same, as long as it goes
    on, and a service's is derived anew only now and then. What an earlier process derived stands until this one has
    seen `ENOUGH` traces.
    """

    def __init__(self, store_of: Callable[[str], StoredArchitectures]) -> None:
        self._store_of = store_of
        self._services: LRUCache[tuple[str, str], _Service] = LRUCache(MAX_SERVICES)
        self._pinned: LRUCache[tuple[str, str], ServiceDescription] = LRUCache(MAX_PINNED)
        self._lock = threading.Lock()

    def of(self, trace: Trace, run: AgentRun) -> ServiceDescription:
        """The description shown with a run; a settled trace teaches, once, with its manager's run.

        Raises:
            RetryableError: the store is away.
        """
        with self._lock:
            description = self._pin(trace)
            if not run.parent_id and trace.state is not TraceState.OPEN:
                self._learn(trace)
            return description

    def _pin(self, trace: Trace) -> ServiceDescription:
        key = (trace.tenant, trace.trace_id)
        # A joined run goes on from traces that were shown something already.
        before = (self._pinned.get((trace.tenant, part), NO_DESCRIPTION) for part in trace.trace_ids)
        known = next((description for description in before if description.text), None)
        description = self._pinned[key] = known or self._current(trace)
        return description

    def _current(self, trace: Trace) -> ServiceDescription:
        kept = self._store_of(trace.tenant).current(trace.service)
        if kept is not None:
            return ServiceDescription(kept.text, by_operator=kept.source is Source.EDITED)
        # The first trace of a service describes itself, once it is whole.
        return ServiceDescription(Derived().add(trace).text if trace.state is not TraceState.OPEN else "")

    def _learn(self, trace: Trace) -> None:
        store, key = self._store_of(trace.tenant), (trace.tenant, trace.service)
        service = self._services.get(key)
        if service is None:
            service = self._services[key] = _Service(new=store.current(trace.service) is None)
        if service.seen >= DERIVED_AT[-1]:
            return
        service.derived = service.derived.add(trace)
        service.seen += 1
        if service.seen in DERIVED_AT and (service.new or service.seen >= ENOUGH):
            try:
                store.keep(trace.service, service.derived.text, Source.DERIVED)
            except TracejuryError as error:  # the next one will be
                log.warning("the description of a service cannot be kept: %s", error)


def no_description(_trace: Trace, _run: AgentRun) -> ServiceDescription:
    """Nothing: judges are told nothing of the service."""
    return NO_DESCRIPTION
