"""Names of tools and agents, as differently as requests and spans write them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_PREFIXES: Final = ("execute_tool_", "running_tool_", "tool_")
_SUFFIXES: Final = ("_run", "_call", "_tool", "_acall", "_invoke")
_STEP_PREFIXES: Final = ("invoke_agent ", "execute_task ", "invoke_workflow ", "agent ")
_STEP_SUFFIXES: Final = (".run", ".agent", ".workflow", ".task")
_METHODS: Final = frozenset(
    {"__call__", "__acall__", "_run", "run", "arun", "call", "acall", "invoke", "ainvoke", "forward", "aforward"}
)

_LONGEST: Final = 200


def canonical(name: str) -> str:
    """Lower case, words joined by one underscore, without what instrumentations add around the name."""
    return _canonical(name[:_LONGEST])


@lru_cache(maxsize=4096)
def _canonical(name: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in name.lower()).split()
    text = "_".join(words)
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix) or text
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix) or text
    return text


def same_name(one: str, other: str) -> bool:
    """Whether two names mean the same tool: equal, or one qualified by its owner (`researcher.search`, `T-search`)."""
    if one == other or not one or not other:
        return True
    a, b = canonical(one), canonical(other)
    return a == b or a.endswith("_" + b) or b.endswith("_" + a)


def plain_name(name: str) -> str:
    """A span's name without what instrumentations add to the name of a step or an agent."""
    return _known_plain(name) if len(name) <= _LONGEST else _plain(name)


def _plain(name: str) -> str:
    for prefix in _STEP_PREFIXES:
        name = name.removeprefix(prefix)
    for suffix in _STEP_SUFFIXES:
        name = name.removesuffix(suffix)
    return without_method(name)


_known_plain = lru_cache(maxsize=4096)(_plain)


def without_method(name: str) -> str:
    """The object of a method call, by a span's name (`search.__call__`, `Researcher.forward`)."""
    of, _, method = name.rpartition(".")
    return of if of and method in _METHODS else name


def is_model(name: str, model: str) -> bool:
    """Whether a name is that of the model, as it is or without its provider (`provider/model`)."""
    return bool(name) and (name == model or model.endswith(f"/{name}"))
