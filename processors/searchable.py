"""The searchable text of a trace: each message once, however often it was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace, Turn

from .normalize.values import as_text

MOST: Final = 2_000_000
"""Characters of a trace's text that are searched; what is said later is not."""
MOST_REPLACED: Final = 8
"""Different characters beyond ASCII that are folded one after another."""

_ASCII: Final = bytes(range(128))
_FOLDED: Final = bytes(ord(" " if chr(c).isspace() else chr(c).lower()) if c < len(_ASCII) else c for c in range(256))


def searchable(trace: Trace, most: int = MOST) -> str:
    """Names, goals, messages, tool calls, answers and failures of a trace, a line each, as `searched` gives them."""
    seen: set[str] = set()
    lines: list[str] = []
    left = most
    for text in _texts(trace):
        if not text or text in seen:
            continue
        seen.add(text)
        lines.append(searched(text[:left]))
        left -= len(lines[-1]) + 1
        if left <= 0:
            break
    return "\n".join(lines)


def searched(text: str) -> str:
    """`text` as searching sees it: without case, white space folded to single spaces.

    `" ".join(text.casefold().split())`, which reads each character several times slower.
    """
    data = text.encode("utf-8", "replace")
    others = data.translate(None, _ASCII).decode()
    data = data.translate(_FOLDED)
    if others.casefold() != others or any(map(str.isspace, others)):
        changes = {c: " " if c.isspace() else c.casefold() for c in set(others) if c.isspace() or c.casefold() != c}
        if len(changes) > MOST_REPLACED:
            return " ".join(data.decode().casefold().split())
        for character, folded in changes.items():
            data = data.replace(character.encode(), folded.encode())
    return b" ".join(filter(None, map(bytes.strip, data.split(b"  ")))).decode()


def _texts(trace: Trace) -> Iterator[str]:
    for run in trace.runs:
        yield from _of_run(run)
    for span in trace.spans.values():
        yield span.raw.name
        yield span.error_text
        yield from span.log_text
    for span in trace.remainder:
        yield from _of_span(span)


def _of_run(run: AgentRun) -> Iterator[str]:
    yield from (run.name, run.goal, run.system_prompt)
    for turn in run.turns:
        yield from _of_turn(turn)
    yield run.answer


def _of_turn(turn: Turn) -> Iterator[str]:
    for message in (*turn.new_messages, *(turn.llm.output_messages if turn.llm else ())):
        yield message.text
        yield message.reasoning
    yield turn.text
    for call in turn.tool_calls:
        yield call.name
        yield as_text(call.arguments)
        yield call.result or ""
        yield call.error or ""
    yield turn.observation


def _of_span(span: NormalizedSpan) -> Iterator[str]:
    for message in (*span.input_messages, *span.output_messages):
        yield message.text
    yield from (span.input_text, span.output_text, as_text(span.tool_arguments), span.tool_result or "")
