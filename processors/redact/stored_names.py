"""Under which values a user's id is stored: as sent, or hashed by redaction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import Span

from .spans import Redacted, Redactor

_MASK: Final = "[redacted:"


def stored_names(redactor: Redactor, keys: Sequence[str], user: str) -> Sequence[str]:
    """The id itself, and what redaction makes of it as the value of these attributes.

    A mask is the same for many users, so it is no name of any.
    """
    attributes = dict.fromkeys(keys, user)
    span = Span("0" * 32, "0" * 16, "", "", 0, 0, attributes=attributes, resource_attributes=attributes)
    (redacted,) = redactor.batch(Batch([span]), Redacted()).spans
    values = chain(redacted.attributes.items(), redacted.resource_attributes.items())
    named = {value for key, value in values if key in attributes and value and _MASK not in value}
    return sorted({user, *named})
