"""A trace as a resource: `tracejury://traces/ID`."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.errors import NotFoundError

from .answers import ToldTrace
from .tools import TOOLS, Caller

PREFIX: Final = "tracejury://traces/"
TRACE_TEMPLATE: Final = f"{PREFIX}{{trace_id}}"
TRACE: Final = "What the agents of a trace did, turn by turn, with its errors; the first 50 turns"


def trace_of(caller: Caller, uri: str) -> ToldTrace:
    """The trace that an address names. Raises NotFoundError for another address."""
    if not uri.startswith(PREFIX):
        raise NotFoundError(f"there is no such resource; there are: {TRACE_TEMPLATE}")
    told = TOOLS["trace"].call(caller, {"trace": uri.removeprefix(PREFIX), "limit": 50})
    return ToldTrace.model_validate(told)
