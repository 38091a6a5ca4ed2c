"""The end of a transcript: what is known only once the run is over."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.trajectory import AgentRun, Trace, TraceState, TurnKind

from .lines import name
from .llm_step import failures, titled
from .memory import Memory

_LEAST_WRITTEN: Final = 40  # characters by which what another run carried out is known to be what this one wrote


def is_over(trace: Trace, run: AgentRun) -> bool:
    """Whether nothing more is to come of the run."""
    return run.status != "unfinished" or trace.state is not TraceState.OPEN


def closing(trace: Trace, run: AgentRun, memory: Memory, label: str = "") -> str:
    """The run's end, facts from its own span, and its answer; "" while it goes on.

    `label`: of the step that it is, where it is one.
    """
    if not is_over(trace, run):
        return ""
    turns = f"{len(run.turns)} turn{'' if len(run.turns) == 1 else 's'}"
    lines = [*_carried_out(trace, run, memory), f"End of the run after {turns}: {_ENDS[run.status]}."]
    if told := _own_span(run):
        lines.append(told)
    if run.span is not None:
        lines += failures(label or "the run", run.span, memory)
    if run.answer:
        lines += titled(
            "answer", memory.shown.render(f"answer of {label}" if label else "end", run.answer, memory.limits.answer)
        )
    else:
        lines.append("no answer recorded")
    return "\n".join(lines) + "\n"


def _carried_out(trace: Trace, run: AgentRun, memory: Memory) -> list[str]:
    """What came of the run's last words where another run, one that calls no model, carried them out."""
    last = next((t for t in reversed(run.turns) if t.llm is not None and t.kind is not TurnKind.INNER), None)
    written = " ".join(last.text.split()) if last else ""
    if last is None or last.llm is None or len(written) < _LEAST_WRITTEN:
        return []
    end = last.llm.raw.end
    for other in trace.runs:
        mechanical = other.span is not None and other.span.raw.start >= end and all(t.llm is None for t in other.turns)
        if mechanical and other.answer and written in " ".join(other.goal.split()):
            told = memory.shown.render("outcome of the last step", other.answer, memory.limits.result)
            return titled(f"outcome of what the last step wrote, carried out by {name(other.name)}", told)
    return []


_ENDS = {"ok": "finished", "error": "ended with an error", "unfinished": "the recording ends here"}


def _own_span(run: AgentRun) -> str:
    facts = [f"agent {name(run.name)}"] if run.name else []
    if run.max_steps is not None:
        facts.append(f"at most {run.max_steps} steps")
    if run.managed_agents:
        facts.append(f"manages {', '.join(name(a, 40) for a in run.managed_agents[:10])}")
    return "; ".join(facts)
