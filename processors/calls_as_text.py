"""Calls that a run's replies ask for in text, and their results, where nothing else records them.

What a reply asks for was done if the next prompt of the run holds something new behind the echo of that reply: as
messages after it, or in one message that retells everything. What is new there is the result. Only the model's own
replies ask for calls; what tools, users or prompts say never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tracejury.schemas.normalized import Message, NormalizedSpan
from tracejury.schemas.trajectory import ToolCall

from .failures import failure_in
from .run_spans import RunSpans
from .text_grammars import asked_part, request_in

LEAST_ECHO = 16
"""Characters; shorter replies identify nothing."""


def read_text_calls(run: RunSpans, new: list[tuple[Message, ...]]) -> dict[int, ToolCall]:
    """The call of each turn (by its index) that asked for one in text and was answered.

    `new`: the new input messages of each turn, in which a retold prompt is cut down here to what is new in it. Runs
    whose calls are recorded, as spans, requests or observations of steps, have none.
    """
    llms = [(i, t.llm) for i, t in enumerate(run.turns) if t.llm is not None and not t.inner]
    if len(llms) < 2 or any(  # noqa: PLR2004 - without a next prompt nothing is known to have been done
        t.calls or t.agents or (t.llm and t.llm.tool_requests) or any(s.output_text for s in t.steps) for t in run.turns
    ):
        return {}
    calls = {}
    for (index, llm), (after, following) in pairwise(llms):
        asked = asked_part(llm.output)
        if len(asked) < LEAST_ECHO:
            continue
        request = request_in(asked, "\n".join(m.text for m in llm.input_messages if m.role != "assistant"))
        told = _behind_echo(asked, llm.input_messages, following.input_messages)
        if told is not None:
            new[after] = (*(m for m in new[after] if m not in following.input_messages[told[0] :]), told[1])
            result = told[1].text
        else:
            result = _appended(asked, following.input_messages, new[after])
        if request is not None and result:
            calls[index] = ToolCall(
                name=request.name,
                arguments=request.arguments,
                result=result,
                requested=True,
                executed=True,
                error=failure_in(_unlabelled(result)) or None,
            )
    return calls


def echoes(later: NormalizedSpan, earlier: NormalizedSpan) -> bool:
    """Whether a message to the model of `later` retells what it was sent and replied in `earlier`."""
    asked = asked_part(earlier.output)
    return len(asked) >= LEAST_ECHO and _behind_echo(asked, earlier.input_messages, later.input_messages) is not None


def _behind_echo(asked: str, before: Sequence[Message], sent: Sequence[Message]) -> tuple[int, Message] | None:
    """Place of the last message of `sent` and what is new in it, if it is that of `before` retold with the echo.

    A prompt grows at its end, or inside a template; the part that it has in common with the earlier one tells where,
    so that what a result quotes is not taken for the echo.
    """
    if not sent or len(sent) != len(before) or sent[-1].role == "assistant" or sent[-1].role != before[-1].role:
        return None
    old, text = before[-1].text.rstrip(), sent[-1].text
    if asked not in text:
        return None
    same = _in_common(old, text)
    # The echo may begin like what stood there before, so that some of it seems to be in common.
    start = text.find(asked, max(0, same - len(asked)))
    if start < 0 or not same:
        return None
    end = start + len(asked)
    rest = text[end:].rstrip()
    below = _in_common(old[same:][::-1], rest[::-1])
    return len(sent) - 1, replace(sent[-1], text=rest[: len(rest) - below].strip())


def _in_common(one: str, other: str) -> int:
    """Length of the longest common beginning; halving, as a loop over the characters of long prompts is slow."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _appended(asked: str, sent: Sequence[Message], new: Sequence[Message]) -> str:
    """What new messages behind the echo in a conversation say."""
    at = next((i for i in range(len(sent) - 1, -1, -1) if sent[i].role == "assistant"), -1)
    if at < 0 or asked_part(sent[at].text) != asked:
        return ""
    return "\n".join(m.text for m in sent[at + 1 :] if m in new and m.text).strip()


def _unlabelled(result: str) -> str:
    """The result without the word or tag by which its prompt introduces it."""
    label, colon, rest = result[:40].partition(":")
    if colon and label.split(" ")[0] in ("Observation", "Result", "Output"):
        return rest.lstrip() + result[40:]
    tag, closed, _ = result[:40].partition(">")
    return result[len(tag) + 1 :].lstrip() if closed and tag.startswith("<") else result
