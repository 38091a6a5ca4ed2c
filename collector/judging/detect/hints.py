"""The one line at a service's first trace: what was recognised, what is missing, and what mends it."""

from __future__ import annotations

from ....processors.doctor import Diagnosis, Gap, diagnose
from ....schemas.normalized import NormalizedSpan
from ....schemas.text.terminal import one_line
from ....schemas.trajectory import Trace

SHOWN_NAME = 100
SHOWN_AGENTS = 10


def first_trace_line(trace: Trace) -> str:
    """One line about a service, from its first trace; names are the sender's, so they are cut and folded.

    It is the doctor's diagnosis of that trace without its remarks.
    """
    found = diagnose([trace])
    convention = ", ".join(trace.conventions) or "none recognised (findings start at the strict profile)"
    service = one_line(trace.service, SHOWN_NAME) or "unknown"
    gaps = "; ".join(map(told, found.real_gaps)) or "nothing"
    return f"service {service}: convention {convention}; agents: {agents(found)}; missing: {gaps}"


def agents(found: Diagnosis) -> str:
    """The names of its agents, the first ones where there are many."""
    names = list(dict.fromkeys(agent.name for agent in found.agents))
    shown = [one_line(name, SHOWN_NAME) or "unnamed agent" for name in names[:SHOWN_AGENTS]]
    more = [f"{len(names) - SHOWN_AGENTS} more"] if len(names) > SHOWN_AGENTS else []
    return ", ".join(shown + more) or "none"


def told(gap: Gap) -> str:
    """A gap with its first remedy."""
    return f"{gap.title} ({gap.remedies[0].do})" if gap.remedies else gap.title


def has_no_parent(span: NormalizedSpan) -> bool:
    """Whether the span names no parent."""
    return not span.raw.parent_span_id
