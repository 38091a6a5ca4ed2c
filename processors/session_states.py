"""The states of an exchange: the thoughts and actions by which the manager came to its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tracejury.schemas.checks import CheckItem
from tracejury.schemas.shown import shown_line
from tracejury.schemas.text.code_blocks import with_code
from tracejury.schemas.trajectory import ToolCall, Trace, Turn, TurnKind
from tracejury.schemas.transcript import SessionRecord, Step

from .transcript.lines import arguments_text
from .wording import ANSWER_TOOLS

_LONGEST: Final = 200  # characters of an item's text
_STRUCTURED: Final = ("{", "[")


def states(record: SessionRecord, number: int, trace: Trace) -> tuple[CheckItem, ...]:
    """The states of the record's exchange `number` (from 0), in order; `trace`: the one that it is of.

    A thought is a turn's reasoning and the words that are not the answer, a structured dialogue state among them; an
    action is one requested call, or the code that the harness ran. Each stands at the step where the manager wrote it.
    A sub-agent's run is one action of its caller. Calls that a tool made of a model are none, nor are agents that the
    harness started unasked.
    """
    recorded = record.exchanges[number]
    steps: dict[str, Step] = {}
    for step in record.transcript.steps[recorded.first : recorded.last]:
        steps.setdefault(step.span_id, step)
    run = trace.run(recorded.exchange.run_id)
    turns = run.turns[max(recorded.exchange.first, 0) : recorded.exchange.last + 1] if run else ()
    reader = _StateReader(trace, steps, recorded.answered, _plain(recorded.exchange.answer))
    return tuple(item for turn in turns if turn.kind is not TurnKind.INNER for item in reader.read(turn))


class _StateReader:
    """Reads the turns of one exchange."""

    def __init__(self, trace: Trace, steps: Mapping[str, Step], answered: str, answer: str) -> None:
        self._spans = {run.id: run.span for run in trace.runs}
        self._steps = steps
        self._answered = answered
        self._answer = answer

    def read(self, turn: Turn) -> Iterator[CheckItem]:
        """The states of a turn."""
        at = self._steps.get(turn.llm.span_id) if turn.llm is not None else None
        words, code = turn.text, ""
        if (turn.wrappers or turn.observation) and not turn.tool_requests:
            words, code = with_code(turn.text)
        if at is not None and turn.llm is not None:
            reasoning = "\n".join(m.reasoning for m in turn.llm.output_messages if m.reasoning)
            thought = f"{reasoning}\n{'' if not code and self._is_answer(turn, at) else words}".strip()
            if thought:
                yield _item("thought", thought, at)
        if code and at is not None:
            if not code.startswith(tuple(f"{name}(" for name in ANSWER_TOOLS)):
                yield _item("action", code, at)
            return  # what the code calls is part of it
        for call in turn.tool_calls:
            unasked = call.requested is False and call.span is None
            step = None if call.closing or unasked else self._step_of(call, at)
            if step is not None:
                yield _item("action", f"{call.name}({_arguments(call)})", step)

    def _is_answer(self, turn: Turn, at: Step) -> bool:
        """Whether a turn's words are the answer; a structured state that holds the answer is more than that."""
        if turn.kind is TurnKind.ANSWER:
            return True
        if at.label != self._answered or turn.sub_run_ids or turn.tool_calls:
            return False
        return _plain(turn.text) == self._answer or not turn.text.lstrip().startswith(_STRUCTURED)

    def _step_of(self, call: ToolCall, at: Step | None) -> Step | None:
        """The step in which the call was asked for, else the one that shows it."""
        if call.requested and at is not None:
            return at
        spans = (call.span, self._spans.get(call.sub_run_id))
        found = (self._steps.get(span.span_id) for span in spans if span is not None)
        return next((step for step in found if step is not None), at)


def _arguments(call: ToolCall) -> str:
    return arguments_text(call.arguments) if call.arguments not in (None, "", {}) else ""


def _item(kind: str, text: str, step: Step) -> CheckItem:
    return CheckItem(shown_line(f"{kind}: {text}", _LONGEST), step.label, step.trace_id, step.span_id)


def _plain(text: str) -> str:
    return " ".join(text.split())
