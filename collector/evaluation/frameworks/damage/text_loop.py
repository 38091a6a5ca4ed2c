"""Agents as loops over text: one prompt that retells all that was said, calls and results in words.

Each run of the undamaged capture becomes such a loop below a plain span, all in the trace of its first call; spans of
agents and tools are gone, LLM spans keep their span ids, times and tokens. The plain span tells of an exception that
ended the loop, as OpenTelemetry's tracers do. Truth: name and arguments of what replies ask for, and the outcome where
the loop called the model again; not where a reply asks for more calls than the grammar holds, or no content was
captured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tracejury.schemas.batch import Batch
from tracejury.schemas.normalized import Message, NormalizedSpan
from tracejury.schemas.spans import STATUS_ERROR, STATUS_UNSET, Span
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn

from .genai_content import as_genai, has_content, messages
from .grammars import Grammar
from .recording import Recording, new_id


def as_text(of: Recording, grammar: Grammar) -> Batch | None:
    """The recording as loops that write calls in this grammar; what stands outside of runs stays away."""
    asked = [len(_asked(turn)) for trace in of.traces for run in trace.runs for turn in run.turns]
    if not has_content(of) or not any(asked) or max(asked) > grammar.most:
        return None
    return Batch([span for trace in of.traces for run in trace.runs for span in _loop(trace, run, grammar)])


def _asked(turn: Turn) -> tuple[ToolCall, ...]:
    """The calls that a reply asks for."""
    return tuple(call for call in turn.tool_calls if call.requested) if turn.llm is not None else ()


def _loop(trace: Trace, run: AgentRun, grammar: Grammar) -> Iterator[Span]:
    calls = [turn.llm.raw for turn in run.turns if turn.llm is not None]
    if not calls:
        return
    home, raised = calls[0], _raised(run)
    above = trace.run(run.parent_id) if run.parent_id else None
    yield Span(
        trace_id=home.trace_id,
        span_id=_episode(run),
        parent_span_id=_episode(above) if above is not None and _traced(above, home.trace_id) else "",
        name="episode",
        start=min(call.start for call in calls) - 1000,
        end=max(call.end for call in calls) + 1000,
        status_code=STATUS_ERROR if raised else STATUS_UNSET,
        status_message=raised,
        service=home.service,
        resource_attributes=home.resource_attributes,
        received_at=home.received_at,
        tenant=home.tenant,
    )
    tools = ", ".join(tool.name for tool in run.tools) or ", ".join(
        sorted({c.name for t in run.turns for c in _asked(t)})
    )
    told = f"{run.system_prompt}\nTools: {tools or 'none'}\nTask: {run.goal}\n".lstrip()
    for at, turn in enumerate(run.turns):
        if turn.llm is None:
            continue
        told += "".join(f"User: {m.text}\n" for m in turn.new_messages if at and m.role in {"user", "human"} and m.text)
        asked = _asked(turn)
        reply = grammar.reply(turn.text, asked)
        yield replace(_written(turn.llm, told, reply), trace_id=home.trace_id, parent_span_id=_episode(run))
        told += f"{reply}\n{grammar.results([(call, _outcome(call)) for call in asked])}"


def _raised(run: AgentRun) -> str:
    """What the last turn's call failed with, if the run ended by that."""
    errors = (call.error for call in run.turns[-1].tool_calls if call.error)
    return next(errors, "") if run.status == "error" else ""


def _outcome(call: ToolCall) -> str:
    if call.error is not None:
        return f"Error: {call.error or call.result}"
    return call.result or "done"


def _written(llm: NormalizedSpan, prompt: str, reply: str) -> Span:
    bare = replace(llm, tools=(), agent_hint="", session_id="")
    said: Sequence[Message] = (Message("assistant", reply),)
    content = {"gen_ai.input.messages": messages([Message("user", prompt)]), "gen_ai.output.messages": messages(said)}
    return replace(as_genai(bare, content), links=(), name="chat")


def _episode(run: AgentRun) -> str:
    return new_id("episode", run.id)


def _traced(run: AgentRun, trace_id: str) -> bool:
    return any(turn.llm is not None and turn.llm.raw.trace_id == trace_id for turn in run.turns)
