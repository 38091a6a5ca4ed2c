"""A remark on errors that are unproven on their service, once for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.wire.errors import ErrorJson

_NAMED: Final = 5


def unproven_remark(errors: Iterable[ErrorJson]) -> str:
    """Which detectors lead errors although nobody has labelled what they find there; "" for none."""
    rules = list(dict.fromkeys(error.judge for error in errors if error.unproven_on_service))
    if not rules:
        return ""
    named = ", ".join(one_line(rule, 60) for rule in rules[:_NAMED])
    more = f" and {len(rules) - _NAMED} more" if len(rules) > _NAMED else ""
    return f"unproven on this service, since nobody has labelled their findings there: {named}{more}"
