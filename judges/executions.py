"""Code and commands that were run in a trace, how they ended, and who wrote them.

Principle: the failure of code belongs to whoever wrote it, in whichever run. Whoever runs it (a terminal without a
model, a tool, the framework) has done its part. The author is the latest earlier LLM call that holds the code, else the
latest one that wrote any code.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..schemas.text.code_blocks import code_of
from .commands import failed, runs_code
from .exit_status import Ended, ended
from .facts import RunFacts, TurnFacts
from .failure_text import reported_failure
from .names import Role, code_argument, text_of


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of code. `run`, `author`: whose code it is, None if nobody knows; `span_id` the tool's, "" for none."""

    at: int
    code: str
    end: Ended
    run: RunFacts | None
    author: TurnFacts | None
    span_id: str

    @property
    def failed(self) -> bool:
        """Whether the code failed."""
        return failed(self.code, self.end)

    @property
    def empty(self) -> bool:
        """Whether the code ran well and put out nothing but an empty value, or the message that it failed."""
        output = self.end.output.strip()
        told = reported_failure(output)
        return self.end.status == 0 and (output in _EMPTY or (told is not None and not self.failed))


_EMPTY: Final = frozenset({"[]", "{}", "()", "set()", "None", "null", "nan", "NaN", "undefined"})


@dataclass(frozen=True, slots=True)
class _Writing:
    """What an LLM call wrote: its text and the arguments of the calls that it asks for."""

    at: int
    run: RunFacts
    turn: TurnFacts
    text: str


def executions(facts: Mapping[str, RunFacts]) -> tuple[Execution, ...]:
    """All executions of a trace whose end is known, in order of time; each once, whoever reads of it."""
    writings = sorted((w for run in facts.values() for w in _writings(run)), key=lambda w: w.at)
    found = [e for run in facts.values() for turn in run.turns for e in _called(run, turn, writings)]
    results = Counter(
        c.call.result.strip() for run in facts.values() for t in run.turns for c in t.calls if c.call.result
    )
    known = {(text, number + 1) for text, count in results.items() for number in range(count)}
    spoken = {text: w for w in writings if (text := w.text.strip())}
    found += [e for run in facts.values() for e in _told(run, writings, spoken, known)]
    return tuple(sorted(found, key=lambda e: (e.at, e.span_id)))


def _writings(run: RunFacts) -> Iterator[_Writing]:
    for turn in run.turns:
        llm = turn.turn.llm
        if llm is not None:
            asked = [text_of(r.arguments) for r in llm.tool_requests]
            yield _Writing(llm.raw.start, run, turn, "\n".join((turn.turn.text, *asked)))


def _called(run: RunFacts, turn: TurnFacts, writings: Sequence[_Writing]) -> Iterator[Execution]:
    """Executions by tools: a call whose result tells how a program ended."""
    for facts in turn.calls:
        call = facts.call
        end = facts.end
        if facts.role is Role.FINAL or end is None or not (end.framed or runs_code(call.name, call.arguments)):
            continue
        code = code_argument(call.arguments)
        span_id = call.span.span_id if call.span else ""
        at = call.span.raw.start if call.span else _start(turn)
        if turn.turn.llm is not None:
            yield Execution(at, code, end, run, turn, span_id)
        elif author := _author(code, at, writings):
            yield Execution(at, code, end, author.run, author.turn, span_id)
        else:
            yield Execution(at, code, end, None, None, span_id)


def _told(
    run: RunFacts, writings: Sequence[_Writing], spoken: Mapping[str, _Writing], known: set[tuple[str, int]]
) -> Iterator[Execution]:
    """Executions by the framework, which no span records: a later call is sent how the code of an earlier one ended.

    `spoken`: the last that wrote a text; `known`: texts that were read already, each with the number of its occurrence
    in a run's messages.
    """
    seen: Counter[str] = Counter()
    for turn in run.turns:
        at, speaker = _start(turn), None
        for message in turn.turn.new_messages:
            text = message.text.strip()
            speaker = spoken.get(text, speaker)
            if not text or message.role in _NOT_TOLD or message.tool_call_id:
                continue
            seen[text] += 1
            key = (text, seen[text])
            if key in known:
                continue
            known.add(key)
            end = ended(text)
            if end is None:
                continue
            writing = speaker if speaker and code_of(speaker.text) else _author("", at, writings)
            if writing is not None and not writing.turn.calls and writing.turn.failure is None:
                yield Execution(writing.at, code_of(writing.text), end, writing.run, writing.turn, "")


_NOT_TOLD: Final = frozenset({"assistant", "system", "tool-call"})


MOST_WRITINGS: Final = 100
"""LLM calls before an execution that may have written its code, the latest ones."""


def _start(turn: TurnFacts) -> int:
    spans = turn.turn.spans
    return spans[0].raw.start if spans else 0


def _author(code: str, at: int, writings: Sequence[_Writing]) -> _Writing | None:
    end = bisect_left(writings, at, key=lambda w: w.at)
    earlier = writings[max(end - MOST_WRITINGS, 0) : end]
    wanted = code.strip()
    if wanted:
        for writing in reversed(earlier):
            if wanted in writing.text:
                return writing
    return next((w for w in reversed(earlier) if code_of(w.text)), None)
