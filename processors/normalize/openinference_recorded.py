"""Records that OpenInference keeps whole: a client's arguments and a model's response."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Message

from .literals import read_value
from .messages import parse_messages
from .states import last_reply
from .values import parse_array, parse_json, parse_object
from .wrappings import messages_in

_PREPARES: Final = ("_prepare", "prepare_")
_HIDDEN: Final = "__REDACTED__"
_ENCODED: Final = ("{", "[", '"')
_REPLY: Final = frozenset({"content", "tool_calls", "blocks", "lc"})


def visible(text: str) -> str:
    """The text, "" where content capture is off."""
    return "" if text == _HIDDEN else text


def is_call(name: str, found: Mapping[str, Any], output_value: str) -> bool:
    """Whether a model was called: some mark as an LLM span what only prepares a call (LlamaIndex).

    Such a span has no reply and no usage, and is named after that step or gives the request back.
    """
    if found["output_messages"] or found["output_tokens"] is not None or found["finish_reasons"]:
        return True
    if name.rpartition(".")[2].startswith(_PREPARES):
        return False
    if not output_value.startswith('{"messages"'):
        return True
    given_back = parse_object(output_value) or {}
    return not isinstance(given_back.get("messages"), list)


def recorded_input(input_value: str) -> tuple[Message, ...]:
    """Input messages out of the recorded arguments of the client, where the flattened ones are missing."""
    value = parse_json(input_value)
    messages = value.get("messages", value.get("input")) if isinstance(value, dict) else value
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):  # LangChain: one a prompt
        messages = messages[0]
    found = parse_messages([m for m in messages if isinstance(m, dict)]) if isinstance(messages, list) else ()
    return found or _stated(input_value, "user")


def _stated(recorded: str, role: str) -> tuple[Message, ...]:
    """The messages that a record in another wrapping holds, where they say whose they are: else it is an answer."""
    if recorded[:1] not in _ENCODED:
        return ()
    found = messages_in(read_value(recorded)) or ()
    return parse_messages([m for m in found if isinstance(m, dict) and ("role" in m or "lc" in m)], role)


def recorded_finish(output_value: str) -> str:
    """Why the model stopped, as the recorded response has it, "" where it does not tell.

    Keys of the JSON itself count alone: within its strings quotes are escaped. A client's object that was written in
    Python's notation stands below "raw" (smolagents).
    """
    if output_value[:1] not in ("{", "["):
        return ""
    found = next((match for form in _FINISH if (match := form.search(output_value))), None)
    return found[1] if found else ""


_FINISH: Final = (
    # The quote comes first: a form that begins with a character is looked for by it, at an eighth of the time.
    re.compile(r'"(?<!\\")(?:finish_reason|stop_reason|finishReason)": ?"(\w{1,40})"'),
    re.compile(r'"(?<!\\")incomplete_details": ?\{"reason": ?"(\w{1,40})"'),  # OpenAI's Responses API
    re.compile(r'"(?<!\\")raw": ?"ChatCompletion\(id=\S{1,100}, choices=\[Choice\(finish_reason=' r"'(\w{1,40})'"),
)


def recorded_output(output_value: str) -> tuple[Message, ...]:
    """The reply out of the recorded response: a message itself, or an API response that holds some."""
    if output_value[:1] == "[":
        return _listed(parse_array(output_value))
    value = parse_object(output_value) if output_value[:1] == "{" else None
    if value is None:
        return last_reply(_stated(output_value, "assistant"))
    choices = value.get("choices")
    replies: list[Any] = [value.get("message", value)]
    if isinstance(choices, list):
        replies = [c.get("message") for c in choices if isinstance(c, dict)]
    elif isinstance(items := value.get("output"), list):  # OpenAI's Responses API
        return parse_messages([i for i in items if _is_map(i)], "assistant")
    elif isinstance(said := value.get("messages"), list) and all(_is_reply(m) for m in said):  # Agno, streamed
        replies = said
    elif isinstance(generations := value.get("generations"), list):  # LangChain: a list a prompt
        replies = [g.get("message") for some in generations[:1] if isinstance(some, list) for g in some if _is_map(g)]
    found = [r for r in replies if isinstance(r, dict) and not _REPLY.isdisjoint(r)]
    return parse_messages(found, "assistant") if found else last_reply(_stated(output_value, "assistant"))


def _listed(items: Sequence[Any] | None) -> tuple[Message, ...]:
    """A list of replies, or of the calls that the one reply asks for."""
    if not items or not all(_is_map(i) for i in items):
        return ()
    if all(isinstance(i.get("output"), list) for i in items):  # responses of OpenAI's API, one after the other
        return parse_messages([said for i in items for said in i["output"] if _is_map(said)], "assistant")
    if all(_is_map(i.get("function")) for i in items):
        return parse_messages([{"role": "assistant", "tool_calls": list(items)}])
    return parse_messages(list(items)) if all(_is_reply(i) for i in items) else ()


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_reply(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") == "assistant"
