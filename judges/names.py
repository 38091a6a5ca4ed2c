"""Names of tools: what a tool is for by its name, and where texts mention one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

from tracejury.schemas.normalized import Json

from .quoting import json_text, values_of
from .wording import WORDINGS

FINAL_NAMES: Final = frozenset(WORDINGS["names"]["final"])
COMPUTE_NAMES: Final = frozenset(WORDINGS["names"]["compute"])
READING_VERBS: Final = frozenset(WORDINGS["names"]["reading"])
WRITING_VERBS: Final = frozenset(WORDINGS["names"]["writing"])


class Role(StrEnum):
    """The purpose of a call."""

    ACCESS = "access"
    FINAL = "final"
    COMPUTE = "compute"


def role_of(name: str) -> Role:
    """The purpose of a call of a tool with that name."""
    return _known_role(name) if len(name) <= _LONGEST_NAME else _role(name)


def _role(name: str) -> Role:
    letters = "".join(filter(str.isalpha, name.lower()))
    if letters in FINAL_NAMES:
        return Role.FINAL
    return Role.COMPUTE if letters in COMPUTE_NAMES else Role.ACCESS


_known_role = lru_cache(4096)(_role)


def reads(name: str) -> bool | None:
    """Whether a tool of that name looks something up (True) or changes something (False); None where nobody can tell.

    The first telling verb decides: `get_or_create` reads, `return_search_results` changes.
    """
    for word in words_of(name):
        if word in READING_VERBS or word in WRITING_VERBS:
            return word in READING_VERBS
    return None


def words_of(name: str) -> Sequence[str]:
    """The words of a name, in lower case: `get_user` and `getUser` have the same."""
    return _known_words(name) if len(name) <= _LONGEST_NAME else _words(name)


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.findall(name))


_known_words = lru_cache(4096)(_words)


def plain(name: str) -> str:
    """Letters and digits of a tool's name, lower case: how it is written differs, and some put its owner before it."""
    return _known_plain(name) if len(name) <= _LONGEST_NAME else _plain(name)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


_known_plain = lru_cache(4096)(_plain)


def hands_back(name: str, arguments: Json, agent: str) -> bool:
    """Whether a call gives the word back to the agent above, which brings no data: its name or an argument names it."""
    key = plain(agent[:_LONGEST_NAME])
    if not key:
        return False
    if plain(name[:_LONGEST_NAME]).endswith(key):
        return True
    return any(_plain(line[:_LONGEST_NAME]) == key for line in text_of(arguments).splitlines())


_LONGEST_NAME: Final = 200
_WORDS: Final = re.compile(r"[A-Z]{0,40}[a-z]{1,40}|[A-Z]{1,40}")


def find_name(text: str, name: str) -> int:
    """Offset of `name` as a whole word in `text`, -1 for none."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _wordy(text[at - 1 : at]) and not _wordy(text[end : end + 1]):
            return at
        at = text.find(name, end)
    return -1


def _telling(name: str) -> Sequence[str]:
    return _known_telling(name) if len(name) <= _LONGEST_NAME else _tell(name)


def _tell(name: str) -> tuple[str, ...]:
    words = name.lower().replace("-", "_").replace(".", "_").split("_")
    return (name.lower(), *(w for w in words if len(w) >= _TELLING))


_known_telling = lru_cache(4096)(_tell)


_TELLING: Final = 6


def _wordy(ch: str) -> bool:
    return ch.isalnum() or ch == "_"


def named(low: str, tools: Sequence[str]) -> list[str]:
    """The names among `tools` that a lower-cased text holds, in order of first mention."""
    found = [(at, name) for name in tools if (at := find_name(low, name.lower())) >= 0]
    return [name for _, name in sorted(found)]


def hints(low: str, tools: Sequence[str]) -> bool:
    """Whether a lower-cased text has a telling word of a tool's name ("researcher" of ask_researcher)."""
    return any(find_name(low, word) >= 0 for name in tools for word in _telling(name))


def text_of(arguments: Json) -> str:
    """The strings among a call's arguments, one a line."""
    return "\n".join(v for v in values_of(arguments) if isinstance(v, str))


def code_argument(arguments: Json) -> str:
    """The code or command among a call's arguments: its texts, else all of them."""
    return text_of(arguments).strip() or json_text(arguments if arguments is not None else "")
