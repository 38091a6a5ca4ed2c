"""The steps of a trace in one sequence: what its agents did, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from tracejury.judges.failure_text import FailureKind
from tracejury.judges.loops import ids_of, without_ids_and_times
from tracejury.judges.patterns.templates import argument_values, template_of
from tracejury.judges.quoting import json_text
from tracejury.judges.read_call import read_call
from tracejury.schemas.normalized import Json, NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn

from .wording import LONGEST

MOST: Final = 5_000
"""Steps of a trace that are read."""
DEEPEST: Final = 100
"""Agents below each other; the steps of those further down follow those of the others."""
UNANSWERED: Final = "no result"
"""The outcome of a call of which nobody knows that it ran."""
FAILED: Final = "failed"
"""The outcome of a run that ended so, and the beginning of that of a call."""
_TASK: Final = 16
"""Characters of a task by which the run is known that it was given to."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A call, or (without a `tool`) the answer of an agent run, of which the last one is that of the trace.

    `outcome`: "" of success, `UNANSWERED`, or `FAILED`, with the kind of failure if it is known. `arguments` and
    `result` are as recorded; of an answer `result` is its text. `told`: the arguments by name, and `told_failure`,
    `told_result`: what is compared of them, without ids and times. `trace_id`, `span_id`: "" where no span tells of
    it. `reply`: the same of calls that one reply asked for, which have no order, "" of a single one.
    """

    agent: str
    tool: str
    arguments: str
    outcome: str
    result: str
    trace_id: str
    span_id: str
    told: Mapping[str, str]
    told_failure: str
    told_result: str
    reply: str = ""


def steps_of(traces: Iterable[Trace]) -> list[TraceStep]:
    """The steps of traces that belong together, up to `MOST`: of the managers in order of start.

    A sub-agent's steps follow the call that delegated to it. What such a call brought is told by the sub-agent's
    answer, which comes after its steps. Calls that one reply asks for have no order: they are in that of their names
    and arguments.
    """
    found = [run for trace in sorted(traces, key=lambda trace: (trace.start, trace.trace_id)) for run in trace.runs]
    runs = {run.id: run for run in found}
    reading = _Reading(runs, frozenset(one for run in found for one in ids_of(run.goal)))
    managers = [run for run in found if run.parent_id not in runs]
    steps = list[TraceStep]()
    for run in (*managers, *found):  # at last those of which no turn tells
        steps += islice(reading.run(run, None), MOST - len(steps))
    return steps


class _Reading:
    """Reads each run once. `given`: ids that agents were given, which are no ids of this trace alone."""

    def __init__(self, runs: Mapping[str, AgentRun], given: frozenset[str]) -> None:
        self._runs, self._given, self._seen = runs, given, set[str]()
        alone = [run for run in runs.values() if not run.parent_id and len(run.goal) >= _TASK]
        self._asked = {run.goal: run.id for run in reversed(alone)}

    def _below(self, call: ToolCall) -> str:
        """The run that a call delegated to, "" for none; where nothing records it, one that was asked what it says."""
        if call.sub_run_id in self._runs:
            return call.sub_run_id
        given = call.arguments.values() if isinstance(call.arguments, Mapping) else (call.arguments,)
        found = (self._asked.get(text, "") for text in given if isinstance(text, str))
        return next((run_id for run_id in found if run_id and run_id not in self._seen), "")

    def run(self, run: AgentRun, by: tuple[ToolCall, Turn, AgentRun] | None, depth: int = 0) -> Iterator[TraceStep]:
        """The steps of a run, its answer last. `by`: the call that delegated to it."""
        if run.id in self._seen or depth > DEEPEST:
            return
        self._seen.add(run.id)
        for turn in run.turns:
            calls = [call for call in turn.tool_calls if not call.closing]
            steps = [(call, below := self._below(call), self._call(call, turn, run, below)) for call in calls]
            if len(turn.tool_requests) > 1:
                reply = f"{run.id}/{turn.index}"
                steps = [(call, below, replace(step, reply=reply)) for call, below, step in steps]
                steps.sort(key=lambda one: (one[2].tool, sorted(one[2].told.items())))
            for call, below, step in steps:
                yield step
                if below:
                    yield from self.run(self._runs[below], (call, turn, run), depth + 1)
            for run_id in turn.sub_run_ids:
                if run_id in self._runs:
                    yield from self.run(self._runs[run_id], None, depth + 1)
        if step_at := self._answer(run, by):
            yield step_at

    def _call(self, call: ToolCall, turn: Turn, run: AgentRun, below: str) -> TraceStep:
        own = call.span or turn.llm
        at = own.raw.start if own else 0
        arguments = _parsed(call.arguments)
        named = arguments if isinstance(arguments, Mapping) else {"": arguments} if arguments not in (None, "") else {}
        told = {
            str(name): self._told(_text(value), at, call.call_id) for name, value in named.items() if value is not None
        }
        outcome = failure = result = ""
        if not below:
            outcome, failure = _outcome(call, turn, run)
            result = call.result or ""
        told_result = "" if failure else self._told(_text(_parsed(result)), at, call.call_id)
        told_failure = template_of(failure, argument_values(call.arguments))
        return TraceStep(
            run.name,
            call.name,
            _text(arguments),
            outcome,
            result or failure,
            *_place(own),
            told,
            told_failure,
            told_result,
        )

    def _answer(self, run: AgentRun, by: tuple[ToolCall, Turn, AgentRun] | None) -> TraceStep | None:
        last = next((turn.llm for turn in reversed(run.turns) if turn.llm is not None), None)
        own = last or run.span
        outcome, failure = _outcome(*by) if by else (FAILED, "") if run.status == "error" else ("", "")
        text = run.answer or (by[0].result or "" if by else "")
        if not text and not outcome and (run.status == "unfinished" or run.span is None):
            return None
        told = self._told(_text(_parsed(text)), own.raw.start if own else 0, "")
        return TraceStep(run.name, "", "", outcome, text or failure, *_place(own), {}, template_of(failure), told)

    def _told(self, text: str, at: int, call_id: str) -> str:
        return " ".join(without_ids_and_times(text, at, call_id, self._given.__contains__).split())


def _place(span: NormalizedSpan | None) -> tuple[str, str]:
    return (span.raw.trace_id, span.span_id) if span is not None else ("", "")


def _outcome(call: ToolCall, turn: Turn, run: AgentRun) -> tuple[str, str]:
    """The outcome of a call, and the words of its failure."""
    facts = read_call(call, turn, run)
    if facts.failure is not None:
        kind = facts.failure.kind
        return FAILED if kind is FailureKind.OTHER else f"{FAILED}: {kind}", facts.failure.text
    return ("" if facts.ran else UNANSWERED), ""


def _text(value: Json) -> str:
    """A value as text, in which the order of keys does not count."""
    if isinstance(value, str):
        return value
    try:
        return "" if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return json_text(value)


def _parsed(value: Json) -> Json:
    """What JSON text says, whatever it is written like."""
    if not isinstance(value, str) or value[:1] not in ("{", "[") or len(value) > LONGEST:
        return value
    try:
        found: Json = json.loads(value)
    except (RecursionError, ValueError):
        return value
    return found
