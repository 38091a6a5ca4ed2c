"""Attributes of spans by which a simulated session is told from those of real users, and its trials from each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .behaviours import Behaviour
from .normalized import NormalizedSpan

SIMULATED: Final = "tracejury.simulated"
BEHAVIOUR: Final = "tracejury.behaviour"
PERSONA: Final = "tracejury.persona"
USER_MODEL: Final = "tracejury.user.model"
USER_FAILED: Final = "tracejury.user.failed"
"""True on an exchange after which the model that wrote the user gave no message."""
FIX: Final = "tracejury.fix.id"
SESSION_END: Final = "tracejury.session.end"
"""A span with it ends its session: nothing is waited for once its traces have settled."""
TRIAL: Final = "tracejury.trial"


def is_simulated(spans: Mapping[str, NormalizedSpan]) -> bool:
    """Whether a span says so: `true`, as a bool or as text."""
    return any(span.raw.attributes[SIMULATED].strip().lower() == "true" for span in _stating(spans))


def behaviour(spans: Mapping[str, NormalizedSpan]) -> str:
    """How the user of a simulated session was to behave, by its first span that names a behaviour; "" without one."""
    said = [
        (span.raw.start, span.raw.span_id, found.value)
        for span in _stating(spans)
        if (found := _named(span.raw.attributes.get(BEHAVIOUR, "")))
    ]
    return min(said)[-1] if said else ""


def persona(spans: Mapping[str, NormalizedSpan]) -> str:
    """The persona of a simulated user, by the first span that names one; "" without one."""
    stating = (span.raw for span in _stating(spans) if PERSONA in span.raw.attributes)
    said = [(span.start, span.span_id, span.attributes[PERSONA]) for span in stating]
    return min(said)[-1] if said else ""


def _stating(spans: Mapping[str, NormalizedSpan]) -> list[NormalizedSpan]:
    return [span for span in spans.values() if SIMULATED in span.raw.attributes]


def _named(text: str) -> Behaviour | None:
    """Whatever else a span says is no behaviour."""
    try:
        return Behaviour(text)
    except ValueError:
        return None
