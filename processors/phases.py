"""The purpose of an LLM call: acting, planning, surveying facts, or wording the final answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from tracejury.schemas.normalized import Message, NormalizedSpan
from tracejury.schemas.trajectory import TurnKind

from .names import canonical
from .run_spans import TurnSpans
from .wording import PLANNING_STEPS, WANTED

_HEAD: Final = 1_500
_TAIL: Final = 600
_BEFORE: Final = 80
_AFTER: Final = 8
_LEAST_PROMPT: Final = 300  # a shorter lone message is a task, not a prompt around one


def kinds_of(turns: Sequence[TurnSpans], goal: str) -> list[TurnKind]:
    """The kinds of a run's turns; `goal`: the run's task, where its own span says it.

    A label or a step's name decides. Otherwise a call is planning, a survey or a closing call only if it was given no
    tools, asked for none, caused nothing, and its instructions ask for exactly that. Where they ask for several, the
    last one counts, because instructions name the inputs first and the wanted output last.
    """
    acts = [_acts(turn) for turn in turns]
    calls = [(turn.llm, act) for turn, act in zip(turns, acts, strict=True) if turn.llm and not turn.inner]
    acting: set[str] = set()
    if not all(acts):
        # Where nothing shows under which prompt the agent acts: under that of its last call.
        acting = {_system(llm) for llm, act in calls if act} or {_system(llm) for llm, _ in calls[-1:]}
    acting.discard("")
    return [
        TurnKind.ACT if act and not turn.planned else _kind(turn, goal, acting)
        for turn, act in zip(turns, acts, strict=True)
    ]


def _kind(turn: TurnSpans, goal: str, acting: Collection[str]) -> TurnKind:
    """The kind of a turn that does not act, or is planned."""
    if turn.planned:
        return TurnKind.PLAN
    if turn.llm is None:
        return TurnKind.ACT
    if turn.inner:
        return TurnKind.INNER
    if any(canonical(step.raw.name) in PLANNING_STEPS for step in turn.steps):
        return TurnKind.PLAN
    return _wanted(_instructions(turn.llm, goal, acting).lower())


def _acts(turn: TurnSpans) -> bool:
    llm = turn.llm
    return bool(turn.calls or turn.agents or (llm is not None and (llm.tools or llm.tool_requests)))


def _system(llm: NormalizedSpan) -> str:
    for message in llm.input_messages:
        if message.role in ("system", "developer"):
            return message.text
    return ""


def _instructions(llm: NormalizedSpan, goal: str, acting: Collection[str]) -> str:
    """The system prompt, unless the agent also acts under it, and the last user message without the task in it."""
    system = _system(llm)
    users = [m for m in llm.input_messages if m.role == "user" and m.text]
    user = users[-1].text if users else ""
    if goal:
        user = user.replace(goal, " ")
    elif len(users) == 1 and not _replied(llm.input_messages) and (system or len(user) < _LEAST_PROMPT):
        user = ""
    return _ends("" if system in acting else system) + "\n" + _ends(user)


def _replied(messages: Sequence[Message]) -> bool:
    return any(m.role == "assistant" for m in messages)


def _ends(text: str) -> str:
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def _wanted(text: str) -> TurnKind:
    """The kind whose word stands last within a match of its pattern, the words looked at from the end; else ACT.

    No match goes beyond its sentence or line.
    """
    last = {kind: text.rfind(word) for kind, (word, _) in WANTED.items()}
    while True:
        kind = max(last, key=last.__getitem__)
        at, (word, pattern) = last[kind], WANTED[kind]
        if at < 0:
            return TurnKind.ACT
        start = max(0, at - _BEFORE, text.rfind(".", 0, at), text.rfind("\n", 0, at))
        if pattern.search(text, start, at + len(word) + _AFTER):
            return kind
        last[kind] = text.rfind(word, 0, at)
