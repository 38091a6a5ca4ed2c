"""Words of alerts that several kinds of rules use. Pure."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.rates import Estimate
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.moments import parse_length
from tracejury.schemas.text.terminal import one_line

MOST: Final = 120
"""Characters of a name or title in a message."""
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_MINUTE: Final = 60
_LEAST: Final = 0.1
"""Percent, and US dollars, that are told with a fixed number of decimals."""


def last(length: str) -> str:
    """A length of time back from now: "the last hour", "the last 7 days"."""
    return f"the last {duration(parse_length(length)).removeprefix('1 ')}"


def duration(nanos: float) -> str:
    """A length of time in the largest unit of which it is a whole number: "1 hour", "90 minutes", "2.5 seconds"."""
    seconds = nanos / 1e9
    size, unit = next(((s, u) for s, u in _UNITS if seconds >= s and not seconds % s), (1, "second"))
    number = f"{seconds:.3g}" if seconds < _MINUTE else f"{seconds / size:,.0f}"
    return f"{number} {unit}{'' if number == '1' else 's'}"


def percent(share: float) -> str:
    """A share as people read it: "2 %", "7.4 %", "0.05 %"."""
    parts = 100 * share
    return f"{f'{parts:.1f}'.removesuffix('.0') if parts >= _LEAST or not parts else f'{parts:.2g}'} %"


def percent_exactly(share: float) -> str:
    """A share as a configuration has it: "1.25 %", "99.99 %"."""
    return f"{100 * share:.10g} %"


def interval(share: Estimate) -> str:
    """The 95 % interval of a share: "5.3 to 10.1 %"."""
    return f"{100 * share.low:.1f} to {100 * share.high:.1f} %"


def usd(amount: float) -> str:
    """US dollars: "12.30 USD", "0.0042 USD"."""
    return f"{amount:,.2f} USD" if amount >= _LEAST or not amount else f"{amount:.2g} USD"


def name(text: str) -> str:
    """A client's name as one line."""
    return one_line(text, MOST)


def of_service(service: str) -> str:
    """The words behind "runs" for a service, or ("") all."""
    return f" of {name(service)}" if service else ""


def errors_of(severity: Severity) -> str:
    """Errors of at least a severity: "a HIGH error", "an error"."""
    match severity:
        case Severity.HIGH:
            return "a HIGH error"
        case Severity.MEDIUM:
            return "an error of at least MEDIUM"
        case Severity.LOW:
            return "an error"
