"""The preprocessing of "What is your agent's GPA?": system instructions and new messages per agent, uncut.

Of each agent run its system instructions, then of each LLM call the messages that the run had not been sent before and
what the call put out. No tool spans (their results are messages of the next call), nothing of a trace's plain spans,
nothing shortened or replaced by a reference. The publication's agents had their tools in their system instructions; a
judge's record also has the definitions that calls were given beside their messages, as two judges rest on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile

from tracejury.schemas.normalized import Message, NormalizedSpan, ToolDefinition
from tracejury.schemas.trajectory import AgentRun, Trace, Turn, TurnKind
from tracejury.schemas.transcript import PlanView, Step, StepKind, Transcript

from .closing import is_over
from .header import first_call
from .limits import UNCUT
from .lines import arguments_block, block, inline, json_line, name
from .plans import plan_views

_SYSTEM = ("system", "developer")


def paper_view(trace: Trace) -> str:
    """A whole trace as plain text, each call under its span id: what seven judges would read, one after another."""
    return "\n".join(_run(run) for run in trace.runs)


def paper_transcript(trace: Trace, run: AgentRun) -> Transcript:
    """The same of one run as a judge's record: a step a call, with a label that leads to its span.

    Append-only while the run goes on. Its end is no part of the preprocessing: `closing` holds only the tools that the
    agent's own span names, of which calls were given no definition.
    """
    header = f"One run of agent {name(run.name)} ({run.role}).\n"
    if run.system_prompt:
        header += f"system instructions:\n{_text(run.system_prompt)}\n"
    given: list[ToolDefinition] = []
    header += "".join(f"{line}\n" for line in _tools("tools:", first_call(run.turns), given, run.system_prompt))
    steps: list[Step] = []
    for turn in takewhile(lambda t: t.closed, run.turns):
        if turn.llm is not None:
            label = f"S{len(steps) + 1}"
            own = None if turn.kind is TurnKind.INNER else turn.llm
            tools = _tools("tools from here on:", own, given, run.system_prompt)
            text = "\n".join((f"{label} llm", *tools, *_lines(turn, turn.llm, run.system_prompt))) + "\n"
            outline = f"{label} llm: {inline(turn.text, UNCUT.line) or '(no text)'}"
            steps.append(Step(label, StepKind.LLM, turn.llm.span_id, turn.index, text, outline))
    first = steps[0].span_id if steps else run.span.span_id if run.span is not None else ""
    closing = "".join(f"{line}\n" for line in _named(run, given)) if is_over(trace, run) else ""
    return Transcript(trace.home(first), run.id, run.name, run.role, header, tuple(steps), closing, header)


def paper_plan_views(run: AgentRun, transcript: Transcript) -> tuple[PlanView, ...]:
    """The plans of `plan_views`, each with all that the transcript shows up to it, uncut."""
    last = {step.label: i for i, step in enumerate(transcript.steps, 1)}
    return tuple(
        replace(view, transcript=replace(transcript, steps=transcript.steps[: last[view.label]], closing=""))
        for view in plan_views(run, transcript)
    )


def _tools(title: str, call: NormalizedSpan | None, given: list[ToolDefinition], instructions: str) -> Iterator[str]:
    """The definitions that the call is the first to be given, whole but for those that the instructions spell out."""
    fresh = [tool for tool in call.tools if tool not in given] if call is not None else []
    given += fresh
    yield from (title,) if fresh else ()
    for tool in fresh:
        if _spelt_out(tool, instructions):
            yield f" {name(tool.name)}: as in the system instructions"
        else:
            yield from _definition(tool)


def _named(run: AgentRun, given: Iterable[ToolDefinition]) -> Iterator[str]:
    """The tools that the agent's own span names, where neither a call nor the instructions define them."""
    known, executed = {tool.name for tool in given}, {tool.name: tool for tool in run.tools}
    named = [tool for tool in run.span.tool_names if tool not in known] if run.span is not None else []
    told = [executed.get(tool, ToolDefinition(tool)) for tool in named]
    own = [tool for tool in told if not _spelt_out(tool, run.system_prompt)]
    yield from ("tools of the agent:",) if own else ()
    for tool in own:
        yield from _definition(tool)


def _definition(tool: ToolDefinition) -> Iterator[str]:
    yield _text(f"{tool.name}: {tool.description}" if tool.description else tool.name)
    if tool.parameters:
        yield _text(f"  parameters: {json_line(tool.parameters)}")


def _spelt_out(tool: ToolDefinition, instructions: str) -> bool:
    properties = (tool.parameters or {}).get("properties")
    told = (tool.name, tool.description, *(map(str, properties) if isinstance(properties, Mapping) else ()))
    return bool(tool.description) and all(text in instructions for text in told)


def _lines(turn: Turn, llm: NormalizedSpan, instructions: str) -> Iterator[str]:
    for message in _new(turn, instructions):
        yield from _said(f"input {name(message.role, 20)}", message)
    if not llm.input_messages and llm.input_text:
        yield from ("input:", _text(llm.input_text))
    for message in llm.output_messages:
        yield from _said("", message)
    if llm.output and not any(message.text for message in llm.output_messages):
        yield from ("wrote:", _text(llm.output))


def _said(sent: str, message: Message) -> Iterator[str]:
    """A message; `sent`: our words on one that the call was sent, "" for what it put out."""
    for title, text in (("reasoning", message.reasoning), ("" if sent else "wrote", message.text)):
        if text:
            yield f"{' '.join(filter(None, (sent, title)))}:"
            yield _text(text)
    for request in message.tool_requests:
        yield f"{sent}{': ' if sent else ''}calls {name(request.name)}"
        yield arguments_block(request.arguments, UNCUT.arguments)


def _text(text: str) -> str:
    return block(text, UNCUT.message)


def _new(turn: Turn, instructions: str) -> list[Message]:
    """The messages that the run had not been sent before, but for its system instructions."""
    return [m for m in turn.new_messages if m.text not in instructions or m.role not in _SYSTEM]


def _run(run: AgentRun) -> str:
    told = [f"Agent {run.name}", f"System instructions: {run.system_prompt}"]
    told += [_turn(turn, run.system_prompt) for turn in run.turns if turn.llm is not None]
    return "\n".join(told)


def _turn(turn: Turn, instructions: str) -> str:
    if turn.llm is None:
        return ""
    told = [f"Span {turn.llm.span_id}", *(_message(m) for m in _new(turn, instructions))]
    told += [f"Output {_message(m)}" for m in turn.llm.output_messages]
    return "\n".join(told)


def _message(message: Message) -> str:
    calls = "".join(f"\n{r.name}({json_line(r.arguments)})" for r in message.tool_requests)
    return f"{message.role}: {message.reasoning}{message.text}{calls}"
