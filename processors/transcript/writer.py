"""Turns to steps: what is shown of a run, in order, each text once."""

from __future__ import annotations

import re
from typing import Final

from tracejury.processors.wording import ANSWER_TOOLS
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn, TurnKind
from tracejury.schemas.transcript import Step, StepKind

from .happened import SHOWN, happened
from .lines import json_line
from .llm_step import StepText, failure_texts, llm_step, titled
from .memory import Memory
from .tool_step import agent_step, other_step, tool_step

_SKEW: Final = 1_000_000_000  # nanoseconds by which clocks may differ
_MOST_OUTCOMES: Final = 8  # of one turn
_CALL: Final = re.compile(r"\b([A-Za-z_]\w{0,79})\(")
_CODE: Final = 20_000  # characters of code in which calls are looked for
_TELLING: Final = 16  # characters from which a line is compared


class Writer:
    """Writes the steps of one run's turns; `prefix` opens their labels."""

    __slots__ = ("_memory", "_prefix", "_runs", "_turn", "steps")

    def __init__(self, trace: Trace, memory: Memory, prefix: str = "") -> None:
        self._prefix = prefix
        self._runs = {run.id: run for run in trace.runs}
        self._memory = memory
        self._turn: list[tuple[StepKind, str, StepText]] = []
        self.steps: list[Step] = []

    def write(self, turn: Turn, after: Turn | None, *, agents: bool = True) -> None:
        """The steps of `turn`; `after`: the run's next call, as far as known. `agents`: with those of sub-agents."""
        self._turn = []
        memory = self._memory
        memory.executes = memory.executes or any(c.span is not None for c in turn.tool_calls)
        if turn.llm is not None:
            self._add(StepKind.LLM, turn.llm.span_id, llm_step(self._label, turn, turn.llm, after, memory))
        for entry in happened(turn, self._runs):
            if entry.run_id:
                if not agents:
                    continue
                self._agent(turn, after, entry.run_id, entry.call)
            elif entry.call is not None and entry.call.span is not None:
                self._add(StepKind.TOOL, entry.call.span.span_id, tool_step(self._label, turn, entry.call, memory))
            elif entry.span is not None:
                self._add(StepKind.TOOL, entry.span.span_id, other_step(self._label, entry.span, memory))
        self._outcome(turn, after)
        self._flush(turn)

    def write_outside(self, llm: NormalizedSpan, index: int) -> None:
        """An LLM call outside any agent, which came after the run's turn `index`, its last."""
        last = max((i for i, m in enumerate(llm.input_messages) if m.role == "assistant"), default=-1)
        turn = Turn(index, TurnKind.ACT, llm, new_messages=llm.input_messages[last + 1 :])
        self._turn = []
        lines, gist = llm_step(self._label, turn, llm, None, self._memory)
        self._add(StepKind.LLM, llm.span_id, ([f"{lines[0]}; outside any agent, after the run", *lines[1:]], gist))
        self._flush(turn)

    def _flush(self, turn: Turn) -> None:
        for kind, span_id, (lines, outline) in self._turn:
            label = self._at(len(self.steps) + 1)
            text = "\n".join(lines) + "\n"
            self.steps.append(Step(label, kind, span_id, turn.index, text, f"{label} {outline}"))

    @property
    def _label(self) -> str:
        return self._at(len(self.steps) + len(self._turn) + 1)

    def _at(self, number: int) -> str:
        return f"{self._prefix}S{number}"

    def _add(self, kind: StepKind, span_id: str, step: StepText) -> None:
        self._turn.append((kind, span_id, step))

    def _agent(self, turn: Turn, after: Turn | None, run_id: str, call: ToolCall | None) -> None:
        run = self._runs.get(run_id)
        late = after is not None and after.llm is not None and not _ended(run, after.llm.raw.start)
        step = agent_step(self._label, self._called(turn, call, None if late else run), call, run, late, self._memory)
        spans = (call.span if call else None, run.span if run else None, turn.llm)
        span_id = next((s.span_id for s in spans if s is not None), run_id)
        self._add(StepKind.AGENT, span_id, step)

    def _called(self, turn: Turn, call: ToolCall | None, run: AgentRun | None) -> str:
        """The sub-agent's name as the request, the calling code or its own span has it.

        What is known besides may come from later spans.
        """
        if call and (call.span is not None or any(r.name == call.name for r in turn.tool_requests)):
            return call.name
        executed = {c.name for c in turn.tool_calls if c.span is not None}
        code = [turn.text, *(json_line(r.arguments) for r in turn.tool_requests)]
        called: dict[str, None] = dict.fromkeys(name for text in code for name in _CALL.findall(text[:_CODE]))
        listed = [n for n in called if n in self._memory.listed and n not in executed and n not in ANSWER_TOOLS]
        if len(listed) == 1:
            return listed[0]
        span = run.span if run else None
        return (span.agent_name or span.raw.name.removesuffix(".run")) if span else "unnamed"

    def _outcome(self, turn: Turn, after: Turn | None) -> None:
        """Add the step's output or failure, unless a result or the next call's input shows it."""
        if not self._turn:
            return
        lines = self._turn[-1][2][0]
        label = self._at(len(self.steps) + len(self._turn))
        memory = self._memory
        told = [("outcome", turn.observation)] if turn.observation and not memory.holds(turn.observation) else []
        for span in turn.wrappers:
            told += [("error of the step", full) for full, core in _failures(span) if not memory.wraps(core)]
        for title, text in list(dict.fromkeys(told))[:_MOST_OUTCOMES]:
            if not _told_by(after, text):
                place = f"outcome of {label}"
                lines += titled(title, memory.shown.render(place, text, memory.limits.result))
                memory.returned(place, text)


def _failures(span: NormalizedSpan) -> list[tuple[str, str]]:
    """Failures of a step's span: the text with the exception's type, and the bare message."""
    if span.kind in SHOWN:
        return []
    messages = [e.message for e in span.exceptions if e.message]
    return [(text, next((m for m in messages if text.endswith(m)), text)) for text in failure_texts(span)]


def _ended(run: AgentRun | None, moment: int) -> bool:
    """Whether a sub-agent's run was over at `moment` (its caller's next call), as far as its spans show."""
    if run is None:
        return False
    if run.span is not None and not run.span.raw.pending:
        return run.span.raw.end <= moment + _SKEW
    ends = [t.llm.raw.end for t in run.turns if t.llm is not None]
    return bool(ends) and max(ends) <= moment + _SKEW


def _told_by(after: Turn | None, text: str) -> bool:
    """Whether the next call was sent `text`: one new message holds its first and last long lines."""
    if after is None:
        return False
    lines = [bare for line in text.split("\n") if len(bare := line.strip()) >= _TELLING] or [text.strip()]
    bare = lines[0].partition(": ")[2]  # an exception's type may be missing in what the call was sent
    if len(bare) >= _TELLING:
        lines[0] = bare
    return any(lines[0] in m.text and lines[-1] in m.text for m in after.new_messages)
