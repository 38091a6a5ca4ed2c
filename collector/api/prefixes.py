"""Ids that are given by their beginning, as people copy them from a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.text.naming import CUT

SHOWN: Final = 10
"""Ids of which a beginning is too short that are listed."""
ERROR_DIGITS: Final = 32
"""Hex digits of the whole id of an error or a finding."""
_LONGEST: Final = 1000
"""Characters of a beginning that are looked for."""


def whole_trace_id(reader: StoredReader, given: str) -> str:
    """The id of the trace whose id is, or alone begins like, what was given.

    Raises:
        NotFoundError: none does. ConfigError: several do; names them.
    """
    prefix = an_id(given).removesuffix(CUT)
    return _only("trace", prefix, reader.trace_ids(prefix, SHOWN + 1) if prefix else ())


def whole_session_id(reader: StoredReader, given: str) -> str:
    """Likewise of a session."""
    prefix = given.removesuffix(CUT)
    return _only("session", prefix, reader.session_ids(prefix[:_LONGEST], SHOWN + 1) if prefix else ())


def whole_error_id(reader: StoredReader, given: str) -> str:
    """Likewise of an error or a finding."""
    prefix = an_id(given).removesuffix(CUT)
    return _only("error", prefix, reader.error_ids(prefix[:_LONGEST], SHOWN + 1) if prefix else ())


def _only(kind: str, prefix: str, found: Sequence[str]) -> str:
    if not found:
        raise NotFoundError(f"no {kind} {prefix[:64]!r} is stored")
    if len(found) == 1 or prefix in found:
        return prefix if prefix in found else found[0]
    listed = ", ".join(one[:64] for one in found[:SHOWN])
    more = ", …" if len(found) > SHOWN else ""
    raise ConfigError(f"several {kind}s begin with {prefix[:64]!r}, give more of the id: {listed}{more}")
