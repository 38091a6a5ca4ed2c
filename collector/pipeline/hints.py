"""The one line at a service's first trace: what was recognised, what is missing, and what turns it on."""

from __future__ import annotations

from ...schemas.normalized import Kind, NormalizedSpan
from ...schemas.trajectory import Trace
from ..terminal import one_line

CONTENT_SWITCHES = {
    "openinference": "unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS",
    "genai": "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_and_event (older ones: true)",
}
SHOWN_NAME = 100
SHOWN_AGENTS = 10
DEFAULT_SWITCH = "turn content capture on in the instrumentation"


def first_trace_line(trace: Trace) -> str:
    """One line about a service, from its first trace; names are the sender's, so they are cut and folded."""
    convention = ", ".join(trace.conventions) or "none recognised (findings start at the strict profile)"
    service = one_line(trace.service, SHOWN_NAME) or "unknown"
    gaps = "; ".join(missing(trace)) or "nothing"
    return f"service {service}: convention {convention}; agents: {agents(trace)}; missing: {gaps}"


def agents(trace: Trace) -> str:
    """The names of its agents, the first ones where there are many."""
    names = list(dict.fromkeys(run.name for run in trace.runs))
    shown = [one_line(name, SHOWN_NAME) or "unnamed" for name in names[:SHOWN_AGENTS]]
    more = [f"{len(names) - SHOWN_AGENTS} more"] if len(names) > SHOWN_AGENTS else []
    return ", ".join(shown + more) or "none"


def missing(trace: Trace) -> list[str]:
    """What the trace does not tell, each with what mends it."""
    spans = list(trace.spans.values())
    calls = [s for s in spans if s.kind is Kind.LLM]
    tools = [s for s in spans if s.kind is Kind.TOOL]
    gaps: list[str] = []
    if not trace.runs:
        gaps.append("agent spans (instrument the agent framework, not only its LLM client)")
    if not calls:
        gaps.append("LLM spans (instrument the LLM client as well)")
    elif not any(s.input_messages or s.output_messages for s in calls):
        gaps.append(f"message content ({content_switch(trace)})")
    if tools and not any(s.tool_arguments or s.tool_result for s in tools):
        gaps.append(f"tool arguments and results ({content_switch(trace)})")
    if calls and tools and not any(s.tools or s.tool_parameters for s in (*calls, *tools)):
        gaps.append("tool schemas (arguments cannot be checked)")
    if not any(has_no_parent(s) for s in spans):
        gaps.append("the root span (flush the tracer provider before the process exits)")
    return gaps


def content_switch(trace: Trace) -> str:
    """What turns content capture on for the trace's convention."""
    return next((CONTENT_SWITCHES[c] for c in trace.conventions if c in CONTENT_SWITCHES), DEFAULT_SWITCH)


def has_no_parent(span: NormalizedSpan) -> bool:
    """Whether the span names no parent."""
    return not span.raw.parent_span_id
