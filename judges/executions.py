"""Code and commands that were run in a trace, how they ended, and who wrote them.

Principle: the failure of code belongs to whoever wrote it, in whichever run. Whoever runs it (a terminal without a
model, a tool, the framework) has done its part. The author is the latest earlier LLM call that holds the code, else the
latest one that wrote any code.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracejury.schemas.text.code_blocks import code_of

from .commands import failed
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
    """What an LLM call wrote: its text and the arguments of the calls that it asks for, and the first code in them."""

    at: int
    run: RunFacts
    turn: TurnFacts
    text: str
    code: str


def executions(facts: Mapping[str, RunFacts]) -> tuple[Execution, ...]:
    """All executions of a trace whose end is known, in order of time; each once, whoever reads of it."""
    runs = list(facts.values())
    found = [e for run in runs for e in run.once(_called)]
    told = list(_untold(runs)) if any(map(_leaves_code, runs)) else []
    if told or any(e.run is None for e in found):
        writings = sorted((w for run in runs for w in run.once(_writings)), key=lambda w: w.at)
        found = [_of_author(e, writings) if e.run is None else e for e in found]
        found += _written(told, writings)
    return tuple(sorted(found, key=lambda e: (e.at, e.span_id)))


def _leaves_code(run: RunFacts) -> bool:
    """Whether a turn of the run wrote code of which only a later message can tell how it ended; see `_written`."""
    left = (turn for turn in run.turns if _is_left(turn))
    return any(one.code for turn in left for one in _writing(run, turn))


def _is_left(turn: TurnFacts) -> bool:
    return not turn.calls and turn.failure is None


def _writings(run: RunFacts) -> Iterator[_Writing]:
    for turn in run.turns:
        yield from _writing(run, turn)


def _writing(run: RunFacts, turn: TurnFacts) -> Iterator[_Writing]:
    llm = turn.turn.llm
    if llm is not None:
        text = "\n".join((turn.turn.text, *(text_of(r.arguments) for r in llm.tool_requests)))
        yield _Writing(llm.raw.start, run, turn, text, code_of(text))


def _called(run: RunFacts) -> Iterator[Execution]:
    """Executions by tools: a call whose result tells how a program ended; nobody's in a turn without a model's call."""
    for turn, facts in run.calls:
        call, end = facts.call, facts.end
        if end is None or facts.role is Role.FINAL or not (end.framed or facts.runs_code):
            continue
        author = turn if turn.turn.llm is not None else None
        at, span_id = (call.span.raw.start, call.span.span_id) if call.span else (_start(turn), "")
        yield Execution(at, code_argument(call.arguments), end, run if author else None, author, span_id)


def _of_author(execution: Execution, writings: Sequence[_Writing]) -> Execution:
    author = _author(execution.code, execution.at, writings)
    return execution if author is None else replace(execution, run=author.run, author=author.turn)


@dataclass(frozen=True, slots=True)
class _Told:
    """A message that may tell how a program ended: the `number`th of its text in its run, the `at`th of its turn."""

    text: str
    number: int
    turn: TurnFacts
    at: int


def _results(run: RunFacts) -> Iterator[tuple[str, int]]:
    """The texts of the results of a run's calls, and how often each came."""
    return iter(Counter(c.call.result.strip() for _, c in run.calls if c.call.result).items())


def _told(run: RunFacts) -> Iterator[_Told]:
    """Executions by the framework, which no span records: a later call is sent how the code of an earlier one ended."""
    seen: Counter[str] = Counter()
    own = dict(run.once(_results))
    for turn in run.turns:
        for at, message in enumerate(turn.turn.new_messages):
            text = message.text.strip()
            if not text or message.role in _NOT_TOLD or message.tool_call_id:
                continue
            seen[text] += 1
            if seen[text] > own.get(text, 0):
                yield _Told(text, seen[text], turn, at)


def _untold(runs: Sequence[RunFacts]) -> Iterator[tuple[_Told, Ended]]:
    """The messages that are the first to tell how a program ended, and how: results of calls were read already."""
    first: dict[tuple[str, int], _Told] = {}
    for run in runs:
        for one in run.once(_told):
            first.setdefault((one.text, one.number), one)
    ends = {text: end for text in {text for text, _ in first} if (end := ended(text)) is not None}
    results: Counter[str] = Counter()
    for run in runs if ends else ():
        results.update(dict(run.once(_results)))
    telling = (one for one in first.values() if one.text in ends)
    return ((one, ends[one.text]) for one in telling if one.number > results[one.text])


def _written(told: Iterable[tuple[_Told, Ended]], writings: Sequence[_Writing]) -> Iterator[Execution]:
    """The executions that messages tell of, by whoever wrote the code."""
    spoken = {text: w for w in writings if (text := w.text.strip())}
    for one, end in told:
        said = (m.text.strip() for m in reversed(one.turn.turn.new_messages[: one.at + 1]))
        speaker = next((spoken[text] for text in said if text in spoken), None)
        writing = speaker if speaker and speaker.code else _author("", _start(one.turn), writings)
        if writing is not None and _is_left(writing.turn):
            yield Execution(writing.at, writing.code, end, writing.run, writing.turn, "")


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
    return next((w for w in reversed(earlier) if w.code), None)
