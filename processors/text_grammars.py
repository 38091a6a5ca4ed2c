"""Grammars in which a model's reply asks for a call in plain text: they only name the tool and its arguments.

Forms: ReAct (Yao et al. 2022: `Action: search[query]`; LangChain's `Action:` and `Action Input:`), tags
(`<tool_call>{…}</tool_call>`, `<function=name>{…}</function>`, and `<name>argument</name>` where the prompt offers that
tag), and a reply that is one JSON object of a name and arguments. A call stands at the end of what a reply asks for:
text that goes on after it explains or quotes.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tracejury.schemas.normalized import Json, ToolRequest

from .normalize.values import as_text, parse_json
from .wording import ANSWER_TOOLS

_OBSERVED: Final = re.compile(r"\n[ \t]*(?:Observation(?: \d{1,4})?:|<(?:observation|tool_response|information)>)")
_ACTION: Final = re.compile(r"(?:^|\n)[ \t*]{0,4}Action(?: \d{1,4})?[ \t]*:[ \t*]{0,4}")
_INPUT: Final = re.compile(r"\n[ \t*]{0,4}Action Input(?: \d{1,4})?[ \t]*:[ \t*]{0,4}")
_NAME: Final = re.compile(r"[\w.\-]{1,64}\Z")
_BRACKETED: Final = re.compile(r"([\w.\-]{1,64})[ \t]?[\[(]")
_CLOSING_TAG: Final = re.compile(r"</([A-Za-z][\w\-]{0,63})>\Z")
_FUNCTION: Final = re.compile(r"<function=([\w.\-]{1,64})>")
_FINAL: Final = re.compile(r"(?:^|\n)[ \t*]{0,4}Final Answer[ \t]*:[ \t*]{0,4}", re.IGNORECASE)

_NAME_KEYS: Final = ("tool", "tool_name", "action", "function", "name")
_ARGUMENT_KEYS: Final = ("args", "arguments", "parameters", "input", "action_input", "tool_input", "tool_args")
_CLOSING: Final = ANSWER_TOOLS | {"finish", "answer", "final"}
_CALL_TAGS: Final = frozenset({"tool_call", "tool", "function_call", "action"})
_NO_TOOLS: Final = frozenset({"think", "thinking", "thought", "reasoning", "plan", "observation", "information"})


def asked_part(reply: str) -> str:
    """The reply up to the first observation that the model made up itself: what follows nobody was asked for."""
    made_up = _OBSERVED.search(reply)
    return (reply[: made_up.start()] if made_up else reply).strip()


def request_in(asked: str, prompt: str) -> ToolRequest | None:
    """The call at the end of `asked` (of `asked_part`); None for none, and for forms of a final answer.

    `prompt`: what the model was sent, which must offer a tag for it to be a tool's name.
    """
    found = _read(asked, prompt)
    return None if found is None or found.name.lower() in _CLOSING else found


def answer_in(reply: str) -> str:
    """The answer in a reply that has a form of its own for it, else the reply."""
    asked = asked_part(reply)
    if final := _FINAL.search(asked):
        return asked[final.end() :].strip()
    closing = _CLOSING_TAG.search(asked)
    if closing and closing[1] in ("answer", "final_answer"):
        opening = asked.rfind(f"<{closing[1]}>")
        return asked[opening + len(closing[1]) + 2 : closing.start()].strip() if opening >= 0 else reply
    found = _read(asked, "")
    if found is None or found.name.lower() not in _CLOSING:
        return reply
    arguments = found.arguments
    value = next(iter(arguments.values()), "") if isinstance(arguments, dict) else arguments
    return as_text(value)


def _read(asked: str, prompt: str) -> ToolRequest | None:
    if asked.endswith(("}", "```")) and (found := _json_call(_unfenced(asked))):
        return found
    if asked.endswith(">"):
        return _tag_call(asked, prompt)
    if "Action" not in asked or _FINAL.search(asked):
        return None
    return _react_call(asked)


def _react_call(asked: str) -> ToolRequest | None:
    action = _ACTION.search(asked)
    if action is None or _ACTION.search(asked, action.end()):  # of several, harnesses differ in which one they run
        return None
    written = asked[action.end() :].strip()
    if given := _INPUT.search(written):
        name = written[: given.start()].strip().strip("`*")
        return ToolRequest(name, _arguments(written[given.end() :])) if _NAME.match(name) else None
    bracketed = _BRACKETED.match(written)
    if bracketed and written[-1] in "])":
        return ToolRequest(bracketed[1], _arguments(written[bracketed.end() : -1]))
    if found := _json_call(_unfenced(written)):
        return found
    return ToolRequest(written, {}) if _NAME.match(written) else None


def _tag_call(asked: str, prompt: str) -> ToolRequest | None:
    closing = _CLOSING_TAG.search(asked)
    if closing is None:
        return None
    name = closing[1]
    if name == "function":
        openings = list(_FUNCTION.finditer(asked))
        return (
            ToolRequest(openings[-1][1], _arguments(asked[openings[-1].end() : closing.start()])) if openings else None
        )
    opening = asked.rfind(f"<{name}>")
    if opening < 0 or name.lower() in _NO_TOOLS:
        return None
    inner = asked[opening + len(name) + 2 : closing.start()].strip()
    if name in _CALL_TAGS:
        return _json_call(inner)
    return ToolRequest(name, inner) if name.lower() in _CLOSING or f"<{name}>" in prompt else None


def _json_call(text: str) -> ToolRequest | None:
    value: Any = parse_json(text) if text[:1] == "{" else None
    if not isinstance(value, dict):
        return None
    name = next((v for k in _NAME_KEYS if isinstance(v := value.get(k), str) and _NAME.match(v)), None)
    key = next((k for k in _ARGUMENT_KEYS if k in value), None)
    if name is None or key is None:
        return None
    arguments = value[key]
    return ToolRequest(name, arguments if isinstance(arguments, dict | str) else as_text(arguments))


def _unfenced(text: str) -> str:
    """A text that is one fenced block without its fence."""
    if not text.startswith("```") or not text.endswith("```"):
        return text
    return text[3:-3].removeprefix("json").strip()


def _arguments(text: str) -> Json:
    """A JSON object where it parses, else the text."""
    text = text.strip()
    value = parse_json(text) if text[:1] == "{" else None
    return value if isinstance(value, dict) else text
