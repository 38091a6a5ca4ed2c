"""Exchanges of a trace: what a user wrote, and what the agents did until they answered.

A manager's run is one exchange unless a person writes again within it. Harnesses write as users, too: they hand over
results, remind of the task, or ask for the next step. A person's message stands out by what it follows: words that the
agent addressed to the user, which stay in the conversation, and after which nothing was run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from tracejury.schemas.normalized import Message
from tracejury.schemas.trajectory import AgentRun, Exchange, Turn, TurnKind

from .names import canonical
from .wording import RESULT_LABEL

_USERS: Final = ("user", "human")
_LEAST_TASK: Final = 40
"""Characters of a task from which a message that holds all of it is a reminder: people do not repeat that much."""
_BLOCK: Final = "```"


def find_exchanges(runs: Sequence[AgentRun]) -> tuple[Exchange, ...]:
    """The exchanges of all managers among the runs of a trace, in their order."""
    agents = frozenset(canonical(run.name) for run in runs if run.name)
    managers = [run for run in runs if not run.parent_id and not run.beside]
    return tuple(exchange for run in managers for exchange in exchanges_of(run, agents))


def exchanges_of(run: AgentRun, agents: Collection[str] = ()) -> tuple[Exchange, ...]:
    """The exchanges of a manager's run, at least one; `agents`: names (canonical) of those who write to it, too."""
    later = list(_later(run, agents))
    asked = [_first_asked(run) if later else run.goal, *(text for _, text, _ in later)]
    firsts = [0 if run.turns else -1, *(first for first, _, _ in later)]
    lasts = [*(first - 1 for first, _, _ in later), len(run.turns) - 1]
    answers = [*(answer for _, _, answer in later), run.answer]
    return tuple(
        Exchange(run.id, first, last, said, answer)
        for first, last, said, answer in zip(firsts, lasts, asked, answers, strict=True)
    )


def _later(run: AgentRun, agents: Collection[str]) -> Iterator[tuple[int, str, str]]:
    """The first turn of each exchange but the first, what was asked there, and the answer that it follows."""
    task, began = "", False  # read where it is first asked for
    answered: Turn | None = None
    for position, turn in enumerate(run.turns):
        if turn.kind is TurnKind.INNER:
            continue
        answers = _is_answer(turn)
        # A reply to a reminder of the task is for the harness that reminded.
        replied = answers or answered is not None
        task = task or (_plain(run.goal) if began and replied else "")
        reminded = began and replied and any(_reminds(m, task) for m in turn.new_messages)
        if turn.llm is not None and answered is not None and not reminded:
            new = [m for m in turn.new_messages if _is_persons(m, turn, answered, agents)]
            said = [m.text for m in new if not _is_dropped(m, answered, _sent_after(run.turns, position))]
            if said:
                yield position, "\n\n".join(said), answered.text
        answered = turn if answers and not reminded else None
        began = began or turn.llm is not None


def _first_asked(run: AgentRun) -> str:
    """What was asked at first: a run of several exchanges may state its last question as its goal."""
    first = next((t for t in run.turns if t.llm is not None and t.kind is not TurnKind.INNER), None)
    said = [m.text for m in first.new_messages if m.role in _USERS and m.text] if first is not None else []
    return said[-1] if said else run.goal


def _is_answer(turn: Turn) -> bool:
    """Whether the turn's words are for the user: nothing was called, and no program is to read them."""
    if turn.llm is None or turn.kind not in (TurnKind.ACT, TurnKind.ANSWER):
        return False
    acted = turn.tool_requests or turn.sub_run_ids or turn.observation or not all(c.closing for c in turn.tool_calls)
    return not acted and turn.text.lstrip()[:1] not in ("", "{", "[")


def _reminds(message: Message, task: str) -> bool:
    return message.role in _USERS and len(task) >= _LEAST_TASK and task in _plain(message.text)


def _is_persons(message: Message, turn: Turn, answered: Turn, agents: Collection[str]) -> bool:
    """Whether a person wrote this new message of the turn, in reply to the turn that answered."""
    if message.role not in _USERS or message.tool_call_id or not message.text.strip():
        return False
    if message.name and canonical(message.name) in agents:
        return False
    if _BLOCK in answered.text and RESULT_LABEL.match(message.text):
        return False
    return _follows(message, turn, answered)


def _follows(message: Message, turn: Turn, answered: Turn) -> bool:
    """Whether the answer is what the message comes after; so it does where the model's server keeps the history."""
    sent = turn.llm.input_messages if turn.llm is not None else ()
    at = next((i for i in range(len(sent) - 1, -1, -1) if sent[i] is message or sent[i] == message), -1)
    before = next((m for m in reversed(sent[: max(at, 0)]) if m.role not in _USERS), None)
    if before is None or before.role in ("system", "developer"):
        return not any(m.role not in (*_USERS, "system", "developer") for m in sent)
    return _plain(before.text) == _plain(answered.text) or (
        bool(before.text.strip()) and _plain(before.text) in _plain(answered.text)
    )


def _sent_after(turns: Sequence[Turn], position: int) -> Sequence[Message]:
    """What was sent with the call after the turn at `position`, () for none."""
    later = (turns[at] for at in range(position + 1, len(turns)))
    return next((t.llm.input_messages for t in later if t.llm is not None and t.kind is not TurnKind.INNER), ())


def _is_dropped(message: Message, answered: Turn, later: Sequence[Message]) -> bool:
    """Whether it was asked beside the conversation: the next call knows the answer, but not what was said to it."""
    said = {(m.role in _USERS, _plain(m.text)) for m in later}
    return (False, _plain(answered.text)) in said and (True, _plain(message.text)) not in said


def _plain(text: str) -> str:
    return " ".join(text.split())
