"""The agent that a tool call addresses, by its name or one of its arguments.

Canonical names do not end in an underscore, so one that starts with a verb names something behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .names import canonical

HANDOFF_VERBS: Final = (
    "transfer_to_", "transfer_back_to_", "handoff_to_", "hand_off_to_", "handoff_back_to_", "delegate_to_",
)  # fmt: skip
_VERBS: Final = (
    *HANDOFF_VERBS,
    "delegate_task_to_", "delegate_work_to_", "ask_", "call_", "consult_", "invoke_", "run_", "query_",
)  # fmt: skip
_REACHING: Final = (*HANDOFF_VERBS, "delegate_", "ask_", "consult_")
_BY_ARGUMENT: Final = frozenset(
    {
        "transfer_to_agent", "transfer", "handoff_to_agent", "handoff", "hand_off",
        "delegate", "delegate_task", "delegate_task_to_member", "delegate_work_to_coworker", "ask_question_to_coworker",
        "ask_agent", "call_agent", "task", "agent",
    }
)  # fmt: skip
"""Tools (canonical names) that reach any agent, named by an argument."""
_HANDOFFS: Final = frozenset({"transfer_to_agent", "transfer", "handoff_to_agent", "handoff", "hand_off"})

_AGENT_KEYS: Final = (
    "agent_name", "to_agent", "agent", "coworker", "co_worker", "member_id", "member", "subagent_type", "recipient",
    "target", "to", "name",
)  # fmt: skip
_MOST_ARGUMENTS: Final = 16
_LONGEST_NAME: Final = 80


def addressee(name: str, arguments: Any = None) -> str:
    """Canonical name of the agent that a call of that tool with those arguments may address, "" where it names none.

    A tool of an agent's own name addresses that agent; so the answer only says something where such an agent is.
    """
    tool = canonical(name)
    if tool in _BY_ARGUMENT:
        return _named(arguments)
    if not tool.startswith(_VERBS):
        return tool
    return next(tool[len(verb) :] for verb in _VERBS if tool.startswith(verb)) or tool


def is_handoff(name: str, arguments: Any = None) -> bool:
    """Whether the call gives the conversation away instead of asking for an answer."""
    return bool(_named(arguments)) if canonical(name) in _HANDOFFS else is_called_handoff(name)


def is_called_handoff(name: str) -> bool:
    """Whether a call's name alone says that it may give the conversation away."""
    tool = canonical(name)
    return tool in _HANDOFFS or tool.startswith(HANDOFF_VERBS)


@dataclass(frozen=True, slots=True)
class Address:
    """A call as its name and arguments address an agent: `to` its canonical name, "" for none, or for whoever is next.

    `hands_over`: it gives the conversation away. `call_id`: of a request.
    """

    to: str
    hands_over: bool
    name: str
    call_id: str = ""


def addresses_of(span: NormalizedSpan) -> tuple[Address, ...]:
    """What a tool's execution, or what a call of a model asks for, addresses."""
    if span.kind is Kind.TOOL:
        name, arguments = span.tool_name, span.tool_arguments
        hands_over = hands_to_someone(name, arguments) or is_handoff(name, arguments)
        return (Address(addressee(name, arguments), hands_over, name),)
    requests = span.tool_requests
    if not requests:
        return ()
    return tuple(
        Address(addressee(r.name, r.arguments), is_handoff(r.name, r.arguments), r.name, r.call_id) for r in requests
    )


def hands_to_someone(name: str, arguments: Any) -> bool:
    """Whether the call gives the conversation to an agent that only its arguments name, which were not recorded."""
    return arguments in (None, "") and canonical(name) in _HANDOFFS


def delegates(name: str, arguments: Any = None) -> bool:
    """Whether the name alone says that the tool is there to reach another agent."""
    tool = canonical(name)
    return (tool in _BY_ARGUMENT and bool(_named(arguments))) or tool.startswith(_REACHING)


def _named(arguments: Any) -> str:
    if not isinstance(arguments, Mapping) or len(arguments) > _MOST_ARGUMENTS:
        return ""
    found = next((v for k in _AGENT_KEYS if isinstance(v := arguments.get(k), str) and 0 < len(v) <= _LONGEST_NAME), "")
    return canonical(found)
