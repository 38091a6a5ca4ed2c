"""The reply in an output that holds more: some senders record the whole history, or a graph's state, as output.

The role decides who spoke: only the assistant's messages after what was sent are the output.
"""

from __future__ import annotations

from typing import Final

from tracejury.schemas.normalized import Kind, Message

from .convention import Fields

_SENT: Final = frozenset({"user", "system", "developer"})
_NOT_THE_MODEL: Final = _SENT | {"tool"}


def keep_reply(found: Fields) -> None:
    """Keep of a call's or an agent's output messages what it wrote itself; what it was sent becomes its input.

    An output without a user's or system message is left alone: a tool's result in it is of a tool that the provider
    ran. So is one in which nobody but users speaks, as some write a reply.
    """
    outputs: tuple[Message, ...] = found.get("output_messages", ())
    if found["kind"] not in (Kind.LLM, Kind.AGENT) or all(m.role not in _SENT for m in outputs):
        return
    beside = _NOT_THE_MODEL if found["kind"] is Kind.LLM else _SENT
    start = end = next((i for i in range(len(outputs), 0, -1) if outputs[i - 1].role not in beside), 0)
    while start and outputs[start - 1].role not in beside:
        start -= 1
    if start == end:
        return
    found["output_messages"] = outputs[start:end]
    sent: tuple[Message, ...] = found.get("input_messages", ())
    if (found["kind"] is Kind.LLM or not sent) and start > sum(m.role not in ("system", "developer") for m in sent):
        found["input_messages"] = (*_instructions(sent, outputs[:start]), *outputs[:start])


def _instructions(sent: tuple[Message, ...], history: tuple[Message, ...]) -> tuple[Message, ...]:
    told = {m.text for m in history}
    return tuple(m for m in sent if m.role in ("system", "developer") and m.text not in told)
