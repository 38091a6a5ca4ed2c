"""Calls that a model wrote as code: with what arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from tracejury.schemas.normalized import NormalizedSpan

_BLOCK: Final = re.compile(r"(?:<code>|```(?:python|py)?[ \t]*\n)(.*?)(?:</code>|```|\Z)", re.DOTALL)
_LONGEST: Final = 20_000
_NO_LITERAL: Final = object()


def arguments_of(code: str, name: str) -> list[dict[str, Any]]:
    """Keyword arguments of each call of the function `name` in the code blocks of a reply, in order.

    Only calls whose arguments are all literal and named; nothing is run.
    """
    return [dict(arguments) for function, arguments in _calls(code) if function == name]


def caller_with(code: str, task: str, least: int) -> str:
    """The function that the code calls with a text of at least `least` characters of `task`, or ""."""
    for function, arguments in _calls(code):
        if any(isinstance(v, str) and len(v) >= least and v in task for _, v in arguments):
            return function
    return ""


@lru_cache(maxsize=64)
def _calls(reply: str) -> tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]:
    found = []
    for block in _BLOCK.findall(reply[:_LONGEST]):
        try:
            tree = ast.parse(block)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
            values = [(k.arg, _literal(k.value)) for k in call.keywords]
            plain = not call.args and all(key and value is not _NO_LITERAL for key, value in values)
            if plain and isinstance(call.func, ast.Name):
                found.append((call.func.id, tuple((str(key), value) for key, value in values)))
    return tuple(found)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return _NO_LITERAL


@lru_cache(maxsize=256)
def function_calls(reply: str) -> tuple[tuple[str, tuple[Any, ...], tuple[tuple[str, Any], ...]], ...]:
    """Calls of plain functions in the code blocks of a reply in order: name, positional and named arguments.

    What is no literal is its source text; nothing is run.
    """
    found = []
    for block in _BLOCK.findall(reply[:_LONGEST]):
        try:
            tree = ast.parse(block)
            calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
            for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
                named = tuple((key.arg, _shown(key.value)) for key in call.keywords if key.arg)
                found.append((call.func.id, tuple(map(_shown, call.args)), named))  # type: ignore[attr-defined]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return tuple(found)


def _shown(node: ast.expr) -> Any:
    value = _literal(node)
    return ast.unparse(node) if value is _NO_LITERAL else value


def writes_code(call: NormalizedSpan) -> bool:
    """Whether a model's reply asks for nothing but by code."""
    return not call.tool_requests and ("```" in call.output or "<code>" in call.output)


def caller_in_code(latest: Mapping[str, str], tool: NormalizedSpan) -> str | None:
    """Whose latest reply calls the tool that a span shows; None where nobody's does, "" where several's do.

    `latest`: replies by holder. Of several, the one that writes the span's arguments.
    """
    found = [holder for holder, text in latest.items() if calls_function(text, tool.tool_name)]
    if len(found) > 1:
        given = tool.tool_arguments.values() if isinstance(tool.tool_arguments, dict) else (tool.tool_arguments,)
        texts = [value for value in given if isinstance(value, str) and value]
        found = [holder for holder in found if all(text in latest[holder] for text in texts)] if texts else found
    return None if not found else found[0] if len(found) == 1 else ""


@lru_cache(maxsize=256)
def calls_function(reply: str, name: str) -> bool:
    """Whether a code block of the reply calls the function `name`, with whatever arguments."""
    plain = name.rpartition(".")[2]
    if not plain or plain not in reply:
        return False
    for block in _BLOCK.findall(reply[:_LONGEST]):
        try:
            tree = ast.parse(block)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == plain for n in ast.walk(tree)):
            return True
    return False
