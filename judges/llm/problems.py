"""Problems of what a user writes, from pydantic's errors: in words of files, not of classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tracejury.schemas.shown import shown_line

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

UNKNOWN_KEY: Final = "extra_forbidden"
"""Pydantic's type of the error of a key that is not known."""
MOST_PLACE: Final = 200
"""Characters of the keys that lead to a problem."""
WORDS: Final[Mapping[str, str]] = {
    UNKNOWN_KEY: "there is no such key here",
    "missing": "this key is missing",
    "model_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_type": "must be text",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
}
"""By pydantic's type of the error."""
_SHOULD: Final = re.compile(r"^(?:Input|Tuple|List|Dictionary|String) should")


def told(problem: ErrorDetails) -> str:
    """One problem on one line, without its place."""
    words = WORDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
    words = _SHOULD.sub("must", words, count=1).replace(" after validation", "", 1)
    return " ".join(words.split())


def place_of(problem: ErrorDetails) -> str:
    """The keys that lead to it, on one line, "" for the file as a whole."""
    return shown_line(".".join(map(str, problem["loc"])), MOST_PLACE)
