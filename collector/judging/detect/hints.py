"""One log line at a service's first trace: its convention, its agents, what is missing and how to add it."""

from __future__ import annotations

import logging

from tracejury.processors.doctor import diagnose
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.trajectory import Trace, TraceState

log = logging.getLogger(__name__)

MAX_SERVICES = 10_000
SHOWN_NAME = 100
SHOWN_AGENTS = 10


def first_trace_line(trace: Trace) -> str:
    """One line about a service, from its first trace; names are the sender's, so they are cut and folded.

    It is the doctor's diagnosis of that trace without its remarks.
    """
    found = diagnose([trace])
    convention = ", ".join(trace.conventions) or "none recognised (findings start at the strict profile)"
    service = one_line(trace.service, SHOWN_NAME) or "unknown"
    gaps = [f"{gap.title} ({gap.remedies[0].do})" if gap.remedies else gap.title for gap in found.real_gaps]
    names = list(dict.fromkeys(agent.name for agent in found.agents))
    shown = [one_line(name, SHOWN_NAME) or "unnamed agent" for name in names[:SHOWN_AGENTS]]
    more = [f"{len(names) - SHOWN_AGENTS} more"] if len(names) > SHOWN_AGENTS else []
    agents, missing = ", ".join(shown + more) or "none", "; ".join(gaps) or "nothing"
    return f"service {service}: convention {convention}; agents: {agents}; missing: {missing}"


class FirstTraces:
    """Logs one line at the first telling trace of each service, up to `MAX_SERVICES` of them."""

    def __init__(self) -> None:
        self._services: set[str] = set()

    def note(self, trace: Trace) -> None:
        """Log the line if it is due."""
        if trace.service in self._services or len(self._services) >= MAX_SERVICES:
            return
        # Children come first: before the root is there, what seems to be missing may be on its way.
        rooted = any(not s.raw.parent_span_id and not s.raw.pending for s in trace.spans.values())
        if trace.state is not TraceState.OPEN or (rooted and trace.runs):
            self._services.add(trace.service)
            log.info("%s", first_trace_line(trace))
