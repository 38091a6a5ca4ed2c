"""A session as text for a judge: the managers' transcripts of its exchanges, in order of time, as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracejury.schemas.trajectory import AgentRun, Exchange, Trace, Turn, TurnKind
from tracejury.schemas.transcript import RecordedExchange, SessionRecord, Step, StepKind, Transcript

from .closing import closing, is_over
from .header import first_call, session_header
from .limits import SESSION, TranscriptLimits
from .lines import inline, name
from .llm_step import titled
from .memory import Memory
from .transcribe import calls_outside, start_of, write_turns
from .unsaid import Unsaid
from .writer import Writer

_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_LEAST_PRINTED: Final = 20  # characters of an answer by which it is known within what was printed
_HEAD_OF_ASKED: Final = 0.4  # a question mostly follows what was pasted


def session_record(session_id: str, traces: Iterable[Trace], limits: TranscriptLimits = SESSION) -> SessionRecord:
    """The record of all exchanges of `traces` (in any order), as far as their turns are closed.

    An exchange stands where its first turn began, so those of overlapping traces alternate, and a late trace takes its
    place among the others. Of traces that are joined to one, one is read. Cost is linear in the size of the traces,
    the text's length is bounded by `limits` a value.
    """
    ordered = _ordered(_distinct(traces))
    recorder = _Recorder(ordered, Memory(limits))
    for placed in ordered:
        recorder.add(placed)
    first = ordered[0] if ordered else None
    transcript = Transcript(
        trace_id=first.trace.trace_id if first else "",
        run_id=session_id,
        agent=first.run.name if first else "",
        role="manager",
        header=recorder.header,
        common=recorder.header,
        steps=tuple(recorder.steps),
    )
    return SessionRecord(session_id, transcript, tuple(recorder.exchanges))


def upto(record: SessionRecord, number: int) -> SessionRecord:
    """The record up to the end of its exchange `number` (from 0)."""
    kept = record.exchanges[: number + 1]
    steps = record.transcript.steps[: kept[-1].last if kept else 0]
    return replace(record, transcript=replace(record.transcript, steps=steps), exchanges=kept)


@dataclass(frozen=True, slots=True)
class _Placed:
    """An exchange with its trace and run."""

    trace: Trace
    run: AgentRun
    exchange: Exchange

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.run.turns[max(self.exchange.first, 0) : self.exchange.last + 1]

    @property
    def ends_run(self) -> bool:
        """Whether it is the last of a run of which nothing more is to come."""
        return self.exchange.last == len(self.run.turns) - 1 and is_over(self.trace, self.run)


def _distinct(traces: Iterable[Trace]) -> Iterable[Trace]:
    """One trace for each run: that which holds all of a joined run's spans, where it is among them."""
    found: dict[str, Trace] = {}
    for trace in sorted(traces, key=lambda t: (bool(t.joined_to), t.trace_id)):
        found.setdefault(trace.joined_to or trace.trace_id, trace)
    return found.values()


def _ordered(traces: Iterable[Trace]) -> list[_Placed]:
    """All exchanges in order of time; those of one run never change places."""
    found: list[tuple[int, str, int, _Placed]] = []
    for trace in traces:
        runs = {run.id: run for run in trace.runs}
        latest: dict[str, int] = {}
        for position, exchange in enumerate(trace.exchanges):
            run = runs[exchange.run_id]
            latest[run.id] = max(latest.get(run.id, 0), start_of(run, exchange.first))
            found.append((latest[run.id], trace.trace_id, position, _Placed(trace, run, _in_words(run, exchange))))
    return [placed for *_, placed in sorted(found, key=lambda one: one[:3])]


class _Recorder:
    """Writes exchanges one after the other into one record."""

    def __init__(self, ordered: Sequence[_Placed], memory: Memory) -> None:
        self._memory = memory
        self._unsaid = Unsaid()
        self._executing: set[tuple[str, str]] = set()
        self._agent = ""
        self.header = session_header(first_call(ordered[0].turns) if ordered else None, memory)
        self.steps: list[Step] = []
        self.exchanges: list[RecordedExchange] = []

    def add(self, placed: _Placed) -> None:
        label, first = f"E{len(self.exchanges) + 1}", len(self.steps)
        steps, answered = self._written(f"{label}.", placed)
        home = placed.trace.home
        self.steps += (replace(step, trace_id=home(step.span_id)) for step in steps)
        asked = steps[0].label if steps and placed.exchange.asked.strip() else ""
        self.exchanges.append(
            RecordedExchange(
                label, placed.trace.trace_id, placed.exchange, first, len(self.steps), asked=asked, answered=answered
            )
        )

    def _written(self, prefix: str, placed: _Placed) -> tuple[list[Step], str]:
        """The steps of an exchange, and the label of the one that shows the answer."""
        run, run_key = placed.run, (placed.trace.trace_id, placed.run.id)
        if not placed.ends_run and not (placed.turns and placed.turns[0].closed):
            return [], ""
        memory = self._memory
        memory.executes = run_key in self._executing
        opening = self._opening(f"{prefix}S1", placed)
        writer = Writer(placed.trace, memory, prefix)
        unsaid = self._unsaid.turns(placed.turns, placed.exchange.asked, begins_run=placed.exchange.first <= 0)
        write_turns(writer, list(unsaid))
        if memory.executes:
            self._executing.add(run_key)
        if placed.ends_run:
            for span in calls_outside(placed.trace, run):
                writer.write_outside(span, run.turns[-1].index)
        steps = writer.steps
        answered = _answering(placed, {step.span_id: step.label for step in reversed(steps)})
        unseen = not answered and (run.answer or run.status == "unfinished")
        if placed.ends_run and (run.status == "error" or unseen or not steps):
            steps.append(_end(f"{prefix}S{len(steps) + 1}", placed, steps, memory))
            answered = answered or (steps[-1].label if run.answer else "")
        steps[:1] = [_opened(step, opening, placed.exchange.asked, memory) for step in steps[:1]]
        return steps, answered

    def _opening(self, label: str, placed: _Placed) -> list[str]:
        """Lines on who is asked and what the user asks, for the step with which the exchange begins."""
        llm, asked = first_call(placed.turns), placed.exchange.asked
        lines: list[str] = []
        if llm is not None and llm.agent_name and llm.agent_name != self._agent:
            self._agent = llm.agent_name
            lines.append(f"agent {name(self._agent)}")
        if asked.strip():
            limit = self._memory.limits.task
            lines += titled(
                "the user", self._memory.shown.render(f"input of {label}", asked, limit, head=_HEAD_OF_ASKED)
            )
        return lines


def _opened(step: Step, opening: Sequence[str], asked: str, memory: Memory) -> Step:
    """The first step of an exchange with the lines that open it."""
    head, _, rest = step.text.partition("\n")
    outline = step.outline
    if asked.strip():
        outline = f"{step.label} user: {inline(asked, memory.limits.line)} | {outline.removeprefix(f'{step.label} ')}"
    return replace(step, text="".join(f"{line}\n" for line in (head, *opening)) + rest, outline=outline)


def _end(label: str, placed: _Placed, steps: Sequence[Step], memory: Memory) -> Step:
    """The end of a run as a step of its own: at the run's span, which alone holds the answer or the failure."""
    trace, run = placed.trace, placed.run
    span_id = run.span.span_id if run.span else steps[-1].span_id if steps else run.id
    text = f"{label} {closing(trace, run, memory, label)}"
    outline = f"{label} end of the run: {inline(run.answer or 'no answer recorded', memory.limits.line)}"
    return Step(label, StepKind.AGENT, span_id, placed.exchange.last, text, outline)


def _answering(placed: _Placed, labels: Mapping[str, str]) -> str:
    """The label of the step that shows the answer: words of the agent, or the call that hands it over."""
    answer = _plain(placed.exchange.answer)
    own = [t for t in reversed(placed.turns) if t.llm is not None and t.kind is not TurnKind.INNER]
    if not answer or not own:
        return ""
    said = ((t.llm.span_id, t.text) for t in own if t.llm is not None)
    spans = [span_id for span_id, text in said if _plain(text) == answer]
    spans += [span_id for span_id, text in _last_words(own[0]) if answer in _plain(text)]
    return next((labels[span_id] for span_id in spans if span_id in labels), "")


def _last_words(turn: Turn) -> Iterator[tuple[str, str]]:
    """What a turn wrote, handed over and got back, each with its span's id."""
    if turn.llm is not None:
        yield turn.llm.span_id, turn.text
        for request in turn.tool_requests:
            values = request.arguments.values() if isinstance(request.arguments, Mapping) else (request.arguments,)
            yield from ((turn.llm.span_id, value) for value in values if isinstance(value, str))
    yield from ((c.span.span_id, c.result) for c in turn.tool_calls if c.span is not None and c.result)


def _in_words(run: AgentRun, exchange: Exchange) -> Exchange:
    """The exchange with the answer as the agent wrote it, where the run's is an object that holds it as printed."""
    turns = (t for t in reversed(run.turns[: exchange.last + 1]) if t.llm is not None and t.kind is not TurnKind.INNER)
    last = next(turns, None)
    if last is None or last.tool_requests or last.sub_run_ids or not _is_printed(exchange.answer, last.text):
        return exchange
    return replace(exchange, answer=last.text)


def _is_printed(answer: str, text: str) -> bool:
    """Whether the text stands within the answer, which may be cut, as programs print objects."""
    printed = _plain(_ESCAPED.sub(lambda found: " " if found[1] in "nt" else found[1], answer))
    words = _plain(text)
    at = printed.find(words[:_LEAST_PRINTED])
    rest = printed[at:].removesuffix("...").removesuffix("…")
    return len(words) >= _LEAST_PRINTED and at > 0 and (rest.startswith(words) or words.startswith(rest))


def _plain(text: str) -> str:
    return " ".join(text.split())
