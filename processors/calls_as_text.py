"""Calls that a run's replies ask for in text, and their results, where nothing else records them.

What a reply asks for was done if the next prompt of the run holds something new behind the echo of that reply: as
messages after it, or in one message that retells everything. What is new there is the result. Only the model's own
replies ask for calls; what tools, users or prompts say never does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.normalized import Message, NormalizedSpan, ToolRequest
from tracejury.schemas.trajectory import AgentRun, ToolCall

from .failures import failure_in
from .run_spans import RunSpans, TurnSpans
from .text_grammars import asked_part, code_in, names_several, requests_in

LEAST_ECHO = 16
"""Characters; shorter replies identify nothing."""
_NEXT: Final = 8  # calls among which the one that goes on stands, where several conversations share a run
_LEAST_TASK: Final = 16
_LONGEST_LABEL: Final = 40
_RESULT_TAGS: Final = frozenset(
    {
        "observation",
        "output",
        "result",
        "results",
        "tool_response",
        "tool_result",
        "information",
        "returncode",
        "stdout",
    }
)
_OBSERVED: Final = re.compile(r"\n[ \t]{0,4}Observation(?: \d{1,4})?:")
_ASKING: Final = ("User:", "Human:")


def read_text_calls(
    run: RunSpans, new: list[tuple[Message, ...]], below: Mapping[str, AgentRun]
) -> dict[int, tuple[ToolCall, ...]]:
    """The calls of each turn (by its index) that asked for some in text.

    What nothing answers, such as the last reply of a run that broke off, is a call only of a tool that the run has
    called before, and nobody knows whether it was done. Runs whose calls are recorded, as spans, requests or
    observations of steps, have none.

    `new`: the new input messages of each turn, in which a retold prompt is cut down here to what is new in it. `below`:
    runs that this one started.
    """
    llms = [(i, t.llm) for i, t in enumerate(run.turns) if t.llm is not None and not t.inner]
    if len(llms) < 2 and not below:  # noqa: PLR2004 - without a next prompt nothing is known to have been done
        return {}
    if any(t.calls or (t.llm and t.llm.tool_requests) or any(s.output_text for s in t.steps) for t in run.turns):
        return {}
    calls: dict[int, tuple[ToolCall, ...]] = {}
    called: set[str] = set()
    for at, (index, llm) in enumerate(llms):
        asked = asked_part(llm.output)
        requests = requests_in(asked, llm.input_messages) if asked else ()
        result = ""
        for after, following in llms[at + 1 : at + (_NEXT if requests else 1) + 1] if len(asked) >= LEAST_ECHO else ():
            told = _behind_echo(asked, llm.input_messages, following.input_messages)
            if told is not None:
                place, message, _ = told
                new[after] = (*(m for m in new[after] if m not in following.input_messages[place:]), message)
                result = _told_by_tools(message.text, llm.input_messages[-1].text)
            else:
                result = _appended(asked, following.input_messages, new[after])
            if told is not None or result:
                # Programs run code of some replies, people that of others; only a label tells of the first.
                requests = requests or (code_in(asked) if _label(result, retold=told is not None) else ())
                break
        if len(requests) > 1 and names_several(asked) and not any(_apart(result, len(requests))):
            continue  # one of them was run, and nobody knows which
        if made := tuple(_calls(requests, result, run.turns[index], below, called)) if requests else ():
            calls[index] = made
            called.update(call.name for call in made)
    return calls


def _calls(
    requests: Sequence[ToolRequest], result: str, turn: TurnSpans, below: Mapping[str, AgentRun], called: set[str]
) -> Iterator[ToolCall]:
    """The calls of one reply as far as what came behind its echo, and the runs that it started, show them."""
    results = _apart(result, len(requests))
    started = [below[run] for run in turn.agents]
    for request, told in zip(requests, results, strict=True):
        tasks = _tasks(request)
        run = next((r for r in started if any(task in r.goal for task in tasks)), None)
        if run is None and len(requests) == len(started) == len(turn.agents) == 1:
            run = started[0]
        if run is not None:
            started.remove(run)
        text = told or (run.answer if run is not None else "")
        if not result and run is None and request.name not in called:
            continue
        yield ToolCall(
            name=request.name,
            arguments=request.arguments,
            result=text or None,
            requested=True,
            executed=True if text or run is not None else None,
            error=failure_in(_unlabelled(text)) or None,
            sub_run_id=run.id if run is not None else "",
        )


def _tasks(request: ToolRequest) -> list[str]:
    """Arguments that are long enough to be known again in what a sub-agent was sent."""
    given = request.arguments
    values = given.values() if isinstance(given, dict) else (given,)
    return [v.strip() for v in values if isinstance(v, str) and len(v.strip()) >= _LEAST_TASK]


def _apart(result: str, number: int) -> Sequence[str]:
    """The results of so many requests: of several only where each stands in a tag or behind a label of its own."""
    if number == 1:
        return (result,)
    labelled = [part.strip() for part in _OBSERVED.split(f"\n{result}")]
    if len(labelled) == number + 1 and not labelled[0]:
        return labelled[1:]
    opening, closed, _ = result[:40].partition(">")
    parts = result.split(f"</{opening[1:]}>") if closed and opening.startswith("<") else []
    whole = len(parts) == number + 1 and not parts[-1].strip()
    each = [part.strip() for part in parts[:-1]] if whole else []
    return each if each and all(part.startswith(f"{opening}>") for part in each) else [""] * number


def _told_by_tools(told: str, before: str) -> str:
    """What is new in a prompt up to the user's next question, known by a label that the prompt had before."""
    ends = [at for label in _ASKING if f"\n{label}" in f"\n{before}" and (at := f"\n{told}".find(f"\n{label}")) >= 0]
    return told[: min(ends)].strip() if ends else told


def echoes(later: NormalizedSpan, earlier: NormalizedSpan) -> int:
    """How much a message to the model of `later` has in common with what `earlier` was sent; 0 if it retells no echo.

    In characters.
    """
    asked = asked_part(earlier.output)
    told = _behind_echo(asked, earlier.input_messages, later.input_messages) if len(asked) >= LEAST_ECHO else None
    return told[2] if told is not None else 0


def _behind_echo(asked: str, before: Sequence[Message], sent: Sequence[Message]) -> tuple[int, Message, int] | None:
    """Place of the last message of `sent` and what is new in it, if it is that of `before` retold with the echo.

    Third: how much both have in common, at least half of the earlier one. A prompt grows at its end, or inside a
    template; the part that it has in common with the earlier one tells where, so that what a result quotes is not
    taken for the echo. One whose beginning changes, such as by a counter, has in common what stands before the echo.
    """
    if not sent or len(sent) != len(before) or sent[-1].role == "assistant" or sent[-1].role != before[-1].role:
        return None
    old, text = before[-1].text.rstrip(), sent[-1].text
    if not old or asked not in text:
        return None
    same = _in_common(old, text)
    # The echo may begin like what stood there before, so that some of it seems to be in common.
    for start in (text.find(asked, max(0, same - len(asked))), text.rfind(asked)):
        if start < 0:
            continue
        rest = text[start + len(asked) :].rstrip()
        below = _in_common(old[same:][::-1], rest[::-1])
        kept = same + below
        if 2 * kept < len(old):
            kept = _in_common(old[::-1], text[:start].rstrip()[::-1])
        if 2 * kept >= len(old):
            return len(sent) - 1, replace(sent[-1], text=rest[: len(rest) - below].strip()), kept
    return None


def _in_common(one: str, other: str) -> int:
    """Length of the longest common beginning; halving, as a loop over the characters of long prompts is slow."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _appended(asked: str, sent: Sequence[Message], new: Sequence[Message]) -> str:
    """What new messages behind the echo in a conversation say."""
    replies = (i for i in range(len(sent) - 1, -1, -1) if sent[i].role == "assistant")
    at = next((i for i in replies if asked_part(sent[i].text) == asked), -1)
    # Some harnesses note behind the echo what they made of it, as if the model had said that, too.
    return (
        "\n".join(m.text for m in sent[at + 1 :] if m in new and m.text and m.role != "assistant").strip()
        if at >= 0
        else ""
    )


def _label(result: str, *, retold: bool = True) -> str:
    """The word or tag by which a program introduces a result, "" for none.

    In a conversation (not `retold`), people may write some of these words themselves.
    """
    label, colon, _ = result[:_LONGEST_LABEL].partition(":")
    words = ("Observation", "Execution", *(("Result", "Output") if retold else ()))
    if colon and label.split(" ")[0] in words:
        return f"{label}:"
    tag, closed, _ = result[:_LONGEST_LABEL].partition(">")
    return f"{tag}>" if closed and tag[1:] in _RESULT_TAGS and tag[0] == "<" else ""


def _unlabelled(result: str) -> str:
    """The result without the word, or whatever tag, by which its prompt introduces it."""
    tag, closed, _ = result[:_LONGEST_LABEL].partition(">")
    label = _label(result) or (f"{tag}>" if closed and tag.startswith("<") else "")
    return result[len(label) :].lstrip()
