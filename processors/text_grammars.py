"""Grammars in which a model's reply asks for a call in plain text: they only name the tool and its arguments.

Forms: ReAct (Yao et al. 2022: `Action: search[query]`; LangChain's `Action:` and `Action Input:`), tags
(`<tool_call>{…}</tool_call>`, `<function=name>{…}</function>`, and `<name>argument</name>` where the prompt offers that
tag), JSON objects of a name and arguments, alone, in a list, or behind prose where the prompt offers that tool, and
code that calls functions which the prompt defines.
Calls stand at the end of what a reply asks for: text that goes on after them explains or quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from tracejury.schemas.normalized import Json, Message, ToolRequest

from .code import function_calls
from .normalize.values import as_text, parse_json
from .wording import ANSWER_TOOLS

_OBSERVED: Final = re.compile(r"\n[ \t]*(?:Observation(?: \d{1,4})?:|<(?:observation|tool_response|information)>)")
_ACTION: Final = re.compile(r"(?:^|\n)[ \t*]{0,4}Action(?: \d{1,4})?[ \t]*:[ \t*]{0,4}")
_INPUT: Final = re.compile(r"\n[ \t*]{0,4}Action Input(?: \d{1,4})?[ \t]*:[ \t*]{0,4}")
_THOUGHT: Final = re.compile(r"\n[ \t*]{0,4}Thought(?: \d{1,4})?[ \t]*:")
_NAME: Final = re.compile(r"[\w.\-]{1,64}\Z")
_BRACKETED: Final = re.compile(r"([\w.\-]{1,64})[ \t]?[\[(]")
_CLOSING_TAG: Final = re.compile(r"</([A-Za-z][\w\-]{0,63})>\Z")
_FINAL: Final = re.compile(r"(?:^|\n)[ \t*]{0,4}Final Answer[ \t]*:[ \t*]{0,4}", re.IGNORECASE)

_CODE_ENDS: Final = ("</code>", "```")
_LONGEST_SIGNATURE: Final = 1000
_LONGEST_NAME: Final = 64
_LONGEST_TAG: Final = 80
_MOST_CALLS: Final = 64
_NAME_KEYS: Final = ("tool", "tool_name", "action", "function", "name")
_ARGUMENT_KEYS: Final = ("args", "arguments", "parameters", "input", "action_input", "tool_input", "tool_args")
_CLOSING: Final = ANSWER_TOOLS | {"finish", "answer", "final"}
_CALL_TAGS: Final = frozenset({"tool_call", "tool", "function_call", "action", "function"})
_RUN: Final = frozenset({"python", "py", "bash", "sh", "shell", "zsh", "powershell", "sql", "javascript", "js"})
_NO_TOOLS: Final = frozenset({"think", "thinking", "thought", "reasoning", "plan", "observation", "information"})


def asked_part(reply: str) -> str:
    """The reply up to the first observation that the model made up itself: what follows nobody was asked for."""
    made_up = _OBSERVED.search(reply)
    return (reply[: made_up.start()] if made_up else reply).strip()


def requests_in(asked: str, sent: Sequence[Message]) -> tuple[ToolRequest, ...]:
    """The calls at the end of `asked` (of `asked_part`), in order; none for forms of a final answer.

    `sent`: what the model was sent, which must offer what only some agents have as a tool.
    """
    return tuple(r for r in _read(asked, sent) if r.name.lower() not in _CLOSING)


def code_in(asked: str) -> tuple[ToolRequest, ...]:
    """The one fenced piece of code with which `asked` ends, as a call of its language; harnesses may run it."""
    if not asked.endswith("```") or asked.count("```") != 2:  # noqa: PLR2004 - its beginning and its end
        return ()
    language, _, code = asked[asked.find("```") + 3 : -3].partition("\n")
    return (ToolRequest(language.strip(), code.strip()),) if language.strip().lower() in _RUN and code.strip() else ()


def answer_in(reply: str) -> str:
    """The answer in a reply that has a form of its own for it, else the reply."""
    asked = asked_part(reply)
    if final := _FINAL.search(asked):
        return asked[final.end() :].strip()
    closing = _CLOSING_TAG.search(asked)
    if closing and closing[1] in ("answer", "final_answer"):
        opening = asked.rfind(f"<{closing[1]}>")
        return asked[opening + len(closing[1]) + 2 : closing.start()].strip() if opening >= 0 else reply
    found = _read(asked, ())
    if not found or found[-1].name.lower() not in _CLOSING:
        return reply
    arguments = found[-1].arguments
    value = next(iter(arguments.values()), "") if isinstance(arguments, dict) else arguments
    return as_text(value)


def _read(asked: str, sent: Sequence[Message]) -> tuple[ToolRequest, ...]:
    if asked.endswith(_CODE_ENDS) and (called := _code_calls(asked, sent)):
        return called
    if asked.endswith(("}", "]", "```")) and (found := _json_at_end(asked, sent)):
        return found
    if asked.endswith(">"):
        return _tag_calls(asked, sent)
    if "Action" not in asked or _FINAL.search(asked):
        return ()
    return _react_calls(asked, sent) if _ACTION.search(asked) else ()


def _code_calls(asked: str, sent: Sequence[Message]) -> tuple[ToolRequest, ...]:
    """Calls in a reply's code of functions that the prompt defines (`def search(query: str)`), or that end a run."""
    found = []
    for name, args, named in function_calls(asked)[:_MOST_CALLS]:
        names = _parameters(name, sent)
        if names is None and name.lower() not in _CLOSING:
            continue
        given = dict(zip(names or (), args, strict=False)) | dict(named)
        alone = args[0] if len(args) == 1 and not given else list(args)
        found.append(ToolRequest(name, given if given or not args else alone))
    return tuple(found)


def _parameters(name: str, sent: Sequence[Message]) -> Sequence[str] | None:
    """The names of a function's parameters by its definition in what the model was sent, None without one."""
    opening = f"def {name}("
    text = next((m.text for m in sent if m.role != "assistant" and opening in m.text), "")
    if not text:
        return None
    start = text.find(opening) + len(opening)
    parts = text[start : start + _LONGEST_SIGNATURE].partition(")")[0].split(",")
    return [word for part in parts if (word := part.partition(":")[0].partition("=")[0].strip(" *")).isidentifier()]


def _react_calls(asked: str, sent: Sequence[Message]) -> tuple[ToolRequest, ...]:
    """The calls behind each `Action:`; none where one of them cannot be read, for what is none is no call's end."""
    found = [_react_call(text, sent) for text in _actions(asked)]
    known = tuple(call for call in found if call is not None)
    return known if len(known) == len(found) else ()


def _actions(asked: str) -> list[str]:
    """What stands behind each `Action:`, up to the thought before the next one."""
    pieces = list(islice(_ACTION.finditer(asked), _MOST_CALLS))
    ends = [*(piece.start() for piece in pieces[1:]), len(asked)][: len(pieces)]
    return [_THOUGHT.split(asked[p.end() : end])[0].strip() for p, end in zip(pieces, ends, strict=True)]


def names_several(asked: str) -> bool:
    """Whether a reply has several `Action:`: harnesses differ in which of them they run."""
    return len(_actions(asked)) > 1


def _react_call(written: str, sent: Sequence[Message]) -> ToolRequest | None:
    if given := _INPUT.search(written):
        name = written[: given.start()].strip().strip("`*")
        # CrewAI's tools may have names of several words.
        named = _NAME.match(name) or (0 < len(name) <= _LONGEST_NAME and "\n" not in name and _offers(sent, name))
        return ToolRequest(name, _arguments(written[given.end() :])) if named else None
    bracketed = _BRACKETED.match(written)
    if bracketed and written[-1] in "])":
        return ToolRequest(bracketed[1], _arguments(written[bracketed.end() : -1]))
    if found := _json_calls(_unfenced(written)):
        return found[0] if len(found) == 1 else None
    return ToolRequest(written, {}) if _NAME.match(written) else None


def _tag_calls(asked: str, sent: Sequence[Message]) -> tuple[ToolRequest, ...]:
    """What the tags at the end ask for: several only in tags that mean nothing but calls."""
    found: tuple[ToolRequest, ...] = ()
    rest = asked
    while (closing := _CLOSING_TAG.search(rest, max(0, len(rest) - _LONGEST_TAG))) and closing[1] in _CALL_TAGS:
        inner, rest = _tagged(rest[: closing.start()], closing[1])
        found = (*(_function_call(inner) if closing[1] == "function" else _json_calls(inner.strip())), *found)
        if len(found) >= _MOST_CALLS:
            break
    if found or closing is None or closing[1] in _CALL_TAGS | _NO_TOOLS:
        return found
    name = closing[1]
    inner, _ = _tagged(rest[: closing.start()], name)
    offered = name.lower() in _CLOSING or any(f"<{name}>" in m.text for m in sent if m.role != "assistant")
    return (ToolRequest(name, inner.strip()),) if inner and offered else ()


def _tagged(text: str, name: str) -> tuple[str, str]:
    """What the last tag of that name in a text without its end holds, and the text before it; "" without a tag."""
    opening = f"<{name}=" if name == "function" else f"<{name}>"
    at = text.rfind(opening)
    return ("", "") if at < 0 else (text[at + len(opening) :], text[:at].rstrip())


def _function_call(inner: str) -> tuple[ToolRequest, ...]:
    name, closed, given = inner.partition(">")
    return (ToolRequest(name, _arguments(given)),) if closed and _NAME.match(name) else ()


def _json_at_end(asked: str, sent: Sequence[Message]) -> tuple[ToolRequest, ...]:
    """The calls of the JSON with which a reply ends; behind prose, which may show an example, only tools on offer."""
    if asked.endswith("```"):
        start = asked.rfind("```", 0, -3)
    else:
        start = 0 if asked[0] in "{[" else next((at for c in "{[" if (at := asked.find(f"\n{c}")) >= 0), -1)
    if start < 0 or _ACTION.search(asked, 0, start):
        return ()
    found = _json_calls(_unfenced(asked[start:].strip()))
    return found if not asked[:start].strip() or all(_offers(sent, r.name) for r in found) else ()


def _json_calls(text: str) -> tuple[ToolRequest, ...]:
    """A text that is one object of a call, or a list of some."""
    value: Any = parse_json(text) if text[:1] in ("{", "[") else None
    found = [_call(one) for one in (value[:_MOST_CALLS] if isinstance(value, list) else [value])]
    return tuple(one for one in found if one is not None) if None not in found else ()


def _call(value: Any) -> ToolRequest | None:
    if not isinstance(value, dict):
        return None
    name = next((v for k in _NAME_KEYS if isinstance(v := value.get(k), str) and _NAME.match(v)), None)
    key = next((k for k in _ARGUMENT_KEYS if k in value), None)
    if name is None or key is None:
        return None
    arguments = value[key]
    return ToolRequest(name, arguments if isinstance(arguments, dict | str) else as_text(arguments))


def _offers(sent: Sequence[Message], name: str) -> bool:
    """Whether what the model was sent has that name as a word of its own."""
    for text in (m.text for m in sent if m.role != "assistant"):
        at = text.find(name)
        while at >= 0:
            around = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
            if not any(c.isalnum() or c == "_" for c in around):
                return True
            at = text.find(name, at + 1)
    return False


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
