"""The mark on spans that we changed or made: the installations that did, and what the samplers before each stated.

An entry is the installation's id, then `@` and the value of the `ot` member of the tracestate as it came to that one.
So what comes back to it is weighed as it was before its own choice: it has the traces that were left out, too.
Without `@` an entry tells nothing of that value: it is of an older version, or the value is longer than W3C allows.
"""

from __future__ import annotations

import hashlib
from typing import Final

from tracejury.schemas.sampling import ot_value, with_ot

FORWARDED_BY: Final = "tracejury.forwarded_by"
"""The attribute of the mark; what comes back to an installation in it goes to no backend that had it."""
_LONGEST: Final = 256
"""Characters of a tracestate member's value (W3C Trace Context, "tracestate Header Field Values")."""


def installation_id(secret: bytes) -> str:
    """The public name of the installation with that secret: 16 hex digits that tell nothing of it."""
    return hashlib.blake2b(secret, digest_size=8, person=b"export").hexdigest()


def bears(mark: str, installation: str) -> bool:
    """Whether that installation is one of those that wrote the mark."""
    return any(entry.partition("@")[0] == installation for entry in mark.split(","))


def marked(before: str, installation: str, trace_state: str) -> str:
    """The mark beside that of others; `trace_state`: of the span as it came in. An entry of our own is renewed."""
    others = [entry for entry in before.split(",") if entry and entry.partition("@")[0] != installation]
    value = ot_value(trace_state)
    ours = f"{installation}@{value}" if len(value) <= _LONGEST else installation
    return ",".join([*others, ours])


def as_it_came(trace_state: str, mark: str, installation: str) -> str:
    """The tracestate of a span that has come back, as it was when it first came in; other members stay."""
    for entry in mark.split(","):
        by, at, value = entry.partition("@")
        if by == installation and at:
            return with_ot(trace_state, value)
    return trace_state
