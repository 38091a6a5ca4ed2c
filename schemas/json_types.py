"""The types of JSON schema as Python reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JSON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}
"""By name in a schema; Python's True is an int, too: whoever asks for a number must look at that."""
