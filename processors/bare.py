"""Runs of programs that only their model's client tells of: calls without any agent, step or tool around them.

What a call was sent shows whose it is: the requests and replies of earlier calls stand in it, under the same system
prompt. One call alone is no run; it stays what it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .calls_as_text import echoes
from .missing_parents import infer_parents, task_texts
from .ownership import Ownership
from .span_tree import SpanTree, time_key
from .text_grammars import asked_part, requests_in

_Key = tuple[str, str]  # what is known by it, and the id or text

_FIRST: Final = frozenset({"system", "developer", "user"})
_LEAST_REPLY: Final = 16  # characters; shorter replies identify nothing
_RECENT: Final = 8  # conversations that a retold prompt is compared with
_RECENT_TASKS: Final = 16  # that calls asked for, with which another conversation may begin
_ASIDE: Final = frozenset({Kind.EVALUATOR, Kind.GUARDRAIL})


@dataclass(slots=True)
class _Conversation:
    """One conversation so far. `calls`: its calls; `acts`: it was given tools, or asked for some."""

    calls: list[NormalizedSpan] = field(default_factory=list)
    acts: bool = False


def find_bare_runs(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with the runs of calls that no agent owns, each with the id of its first call."""
    bare = _bare_owners(tree, ownership.owner)
    if not bare:
        return ownership
    own = dict.fromkeys(bare[s.raw.span_id] for s in tree.order if s.raw.span_id in bare)
    found = replace(ownership, owner=ownership.owner | bare, runs=ownership.runs | dict.fromkeys(own, ""))
    return infer_parents(tree, found, own)


def _bare_owners(tree: SpanTree, owner: Mapping[str, str]) -> dict[str, str]:
    """Span id to run id for calls that no agent owns; `owner`: span to run."""
    free = _free_calls(tree, owner)
    if not free:
        return {}
    records = _records(tree, free)
    conversations: list[_Conversation] = []
    known: dict[tuple[str, _Key], _Conversation] = {}
    tasks: deque[tuple[_Conversation, str]] = deque(maxlen=_RECENT_TASKS)
    for span in free:
        speaker = _speaker(span)
        same = records[span.span_id]
        conversation = next((t for s in same for key in _input_keys(s) if (t := known.get((speaker, key)))), None)
        if conversation is None:
            conversation = _stated_or_retold(span, speaker, known, conversations, tasks)
        if conversation is None:
            conversation = _Conversation()
            conversations.append(conversation)
        acts = bool(span.tools or span.tool_requests)
        conversation.acts = conversation.acts or acts or _asks_in_text(conversation.calls)
        conversation.calls.append(span)
        texts = (text for request in span.tool_requests for text in task_texts(request.arguments))
        tasks.extend((conversation, text) for text in texts)
        for key in (k for s in same for k in _output_keys(s)):
            known[speaker, key] = conversation
    found: dict[str, str] = {}
    for conversation in conversations:
        if conversation.acts and len(conversation.calls) > 1:
            found.update((span.span_id, conversation.calls[0].span_id) for span in conversation.calls)
    inner = {s.span_id: tree.parent[s.span_id] for s in tree.llm_calls if s.span_id in tree.parent}
    for span_id, above in inner.items():  # parents first
        if above in found and span_id not in found and not owner[span_id]:
            found[span_id] = found[above]
    return found


def _free_calls(tree: SpanTree, owner: Mapping[str, str]) -> list[NormalizedSpan]:
    """The outermost LLM spans that no run owns, apart from what judges and guards ask, in order of time."""
    if sum(not owner[s.raw.span_id] for s in tree.llm_calls) < 2:  # noqa: PLR2004 - one is no run
        return []
    under: set[str] = set()
    free = []
    for span in tree.order:
        above = tree.parent.get(span.span_id)
        if above in under or span.kind in _ASIDE:
            under.add(span.raw.span_id)
        elif span.kind is Kind.LLM and not owner[span.raw.span_id]:
            under.add(span.raw.span_id)
            free.append(span)
    return sorted(free, key=time_key)


def _records(tree: SpanTree, calls: Sequence[NormalizedSpan]) -> dict[str, list[NormalizedSpan]]:
    """Each of the outermost `calls` and the LLM spans right below it: records of the same call that may tell ids."""
    found = {span.span_id: [span] for span in calls}
    for span in tree.llm_calls:
        if (above := tree.parent.get(span.raw.span_id)) in found:
            found[above].append(span)
    return found


def _stated_or_retold(
    span: NormalizedSpan,
    speaker: str,
    known: Mapping[tuple[str, _Key], _Conversation],
    conversations: Sequence[_Conversation],
    tasks: Iterable[tuple[_Conversation, str]],
) -> _Conversation | None:
    """The conversation of the span's session, else one whose last call and reply its prompt retells in one message."""
    found = known.get((speaker, ("session", span.session_id))) if span.session_id else None
    if found is not None and not _given_anew(span, found, tasks):
        return found
    recent = [c for c in conversations[: -_RECENT - 1 : -1] if _speaker(c.calls[-1]) == speaker]
    # What a sub-agent answered also stands in its manager's prompt: the one that has most in common goes on.
    retold, _, found = max(((echoes(span, c.calls[-1]), -at, c) for at, c in enumerate(recent)), default=(0, 0, None))
    return found if retold else None


def _given_anew(span: NormalizedSpan, known: _Conversation, tasks: Iterable[tuple[_Conversation, str]]) -> bool:
    """Whether a call that holds no history begins anew, though it states the session of `known`.

    It does where `known` sends its history with its calls, or where another conversation asked for its task and `known`
    has not: all agents and users of a program may state one session ("default"), and be asked more than once.
    """
    if not span.input_messages or _holds_history(span):
        return False
    if any(_holds_history(call) for call in known.calls[-_RECENT:]):
        return True
    asked, before = (
        next((m.text for m in reversed(call.input_messages) if m.role == "user"), "")
        for call in (span, known.calls[-1])
    )
    first = next((m.text for m in known.calls[-1].input_messages if m.role == "user"), "")
    return any(c is not known and text in asked and text not in before and text not in first for c, text in tasks)


def _holds_history(call: NormalizedSpan) -> bool:
    """Whether it was sent replies or results."""
    return any(message.role not in _FIRST for message in call.input_messages)


def _asks_in_text(calls: Sequence[NormalizedSpan]) -> bool:
    """Whether the last call, which another one follows, asks for something in text."""
    if not calls:
        return False
    return bool(requests_in(asked_part(calls[-1].output), calls[-1].input_messages))


def _speaker(span: NormalizedSpan) -> str:
    """Key of a conversation's participant: the service, its client, the agent and the system prompt."""
    prompt = next((m.text for m in span.input_messages[:2] if m.role in ("system", "developer")), "")
    return f"{span.raw.service}\n{span.raw.scope_name}\n{span.agent_name or span.agent_hint}\n{prompt}"


def _input_keys(span: NormalizedSpan) -> list[_Key]:
    keys: list[_Key] = []
    for message in reversed(span.input_messages):
        keys += [("call", r.call_id) for r in message.tool_requests if r.call_id]
        if message.tool_call_id:
            keys.append(("call", message.tool_call_id))
        if message.role == "assistant" and len(message.text) >= _LEAST_REPLY:
            keys.append(("said", message.text))
    return keys


def _output_keys(span: NormalizedSpan) -> list[_Key]:
    keys = [("session", span.session_id)] if span.session_id else []
    for message in span.output_messages:
        keys += [("call", r.call_id) for r in message.tool_requests if r.call_id]
        # Harnesses cut off observations that the model made up itself.
        for text in dict.fromkeys((message.text, asked_part(message.text))):
            if len(text) >= _LEAST_REPLY:
                keys.append(("said", text))
    return keys
