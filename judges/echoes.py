"""Code that only prints words which stand in it: whoever was to read them was never called."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Final

LONGEST: Final = 20_000
"""Characters of code above which nothing is said of it."""

_STATEMENTS: Final = (ast.Module, ast.Expr, ast.Assign, ast.AnnAssign, ast.Pass)
_TEXTS: Final = (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Name, ast.BinOp, ast.Add, ast.Call, ast.keyword)
_CONTEXTS: Final = (ast.Load, ast.Store)


_DOES_MORE: Final = re.compile(
    r"\s*(?:#[^\r\n]*\n\s*)*(?:(?:import|from|def|class|for|while|if|with|async|return|raise|assert|del) |try:)"
)
"""The opening of code whose first statement, if it is any, is none of `_STATEMENTS`; it need not be parsed."""


def only_prints(code: str) -> bool:
    """Whether Python code prints texts that are written in it, and does nothing else."""
    if len(code) > LONGEST or "print" not in code or _DOES_MORE.match(code):
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(code)
            nodes = list(ast.walk(tree)) if all(isinstance(one, _STATEMENTS) for one in tree.body) else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    plain = all(isinstance(node, (*_STATEMENTS, *_TEXTS, *_CONTEXTS)) for node in nodes)
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return (
        plain
        and bool(calls)
        and all(isinstance(func, ast.Name) and func.id == "print" for func in calls)
        and all(isinstance(value, str) for value in values)
        and any(value.count(" ") >= _WORDS for value in values if isinstance(value, str))
    )


_WORDS: Final = 3
