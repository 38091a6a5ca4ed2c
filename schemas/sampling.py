"""Sampling by OpenTelemetry's rules (specification, "TraceState: Probability Sampling"), and a hash of our own.

A sampler keeps a trace where its randomness, 56 bits that are the same for all of its spans, is at least the rejection
threshold; the probability is 1 - threshold / 2^56. Both stand in the `ot` member of the W3C tracestate: `th`, as up to
14 hex digits without trailing zeros, and `rv`, 14 digits, in place of the last 56 bits of the trace id.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Final

_SPACE: Final = 2**56
_DIGITS: Final = 14
_HEX: Final = frozenset("0123456789abcdef")
_MEMBERS: Final = 32
"""List members that a tracestate may have (W3C Trace Context, "tracestate Header Field Values")."""


def upstream_probability(trace_state: str) -> float:
    """The probability with which an upstream sampler kept the span, from its W3C tracestate; 1.0 where none says."""
    return (_SPACE - threshold(trace_state)) / _SPACE  # never 0: 1 - a quotient would round to it


def threshold(trace_state: str) -> int:
    """The rejection threshold that the tracestate names, below 2^56; 0 where it names none."""
    digits = _field(trace_state, "th")
    if 0 < len(digits) <= _DIGITS and _HEX.issuperset(digits):
        return int(digits.ljust(_DIGITS, "0"), 16)
    return 0


def randomness(trace_id: str, trace_state: str) -> int:
    """The trace's 56 random bits: `rv` where it is stated, else the last ones of its id (hex)."""
    digits = _field(trace_state, "rv")
    if len(digits) == _DIGITS and _HEX.issuperset(digits):
        return int(digits, 16)
    return int(trace_id[-_DIGITS:] or "0", 16)


def combined_threshold(trace_state: str, rate: float) -> int:
    """The threshold of a further sampler that keeps `rate` (0 to 1) of what the upstream one kept; 2^56: nothing."""
    return _SPACE - round((_SPACE - threshold(trace_state)) * Fraction(rate))


def is_sampled(trace_id: str, trace_state: str, rate: float) -> bool:
    """Whether a further sampler keeps the trace; of two rates the lower keeps a part of what the higher does.

    Where the randomness contradicts the upstream threshold it cannot be what chose the trace, so a hash chooses.
    """
    value = randomness(trace_id, trace_state)
    if value < threshold(trace_state):
        return chosen(f"kept:{trace_id}", rate)
    return value >= combined_threshold(trace_state, rate)


def with_threshold(trace_state: str, value: int) -> str:
    """The tracestate with that rejection threshold (below 2^56) in its `ot` member, which comes first, as W3C asks."""
    fields = [f"th:{f'{value:014x}'.rstrip('0') or '0'}"]
    fields += [f for f in ot_value(trace_state).split(";") if f and f.partition(":")[0] != "th"]
    return with_ot(trace_state, ";".join(fields))


def with_randomness(trace_state: str, value: int) -> str:
    """The tracestate with that randomness (below 2^56) stated in its `ot` member, in place of any other."""
    fields = [f for f in ot_value(trace_state).split(";") if f and f.partition(":")[0] != "rv"]
    return with_ot(trace_state, ";".join([*fields, f"rv:{value:014x}"]))


def ot_value(trace_state: str) -> str:
    """The value of the first `ot` member, "" where there is none."""
    for member in trace_state.split(","):
        key, _, value = member.strip().partition("=")
        if key == "ot":
            return value
    return ""


def with_ot(trace_state: str, value: str) -> str:
    """The tracestate with that `ot` member, first, as W3C asks of one that was changed; "" leaves it out."""
    members = [m.strip() for m in trace_state.split(",") if m.strip()]
    others = [m for m in members if m.partition("=")[0] != "ot"]
    return ",".join([f"ot={value}", *others[: _MEMBERS - 1]] if value else others)


def chosen(trace_id: str, rate: float) -> bool:
    """Whether a trace is in a sample of `rate` (0 to 1): by a hash of its id, so alike in every process.

    The hash is not the id's own randomness: an upstream sampler may have used that, and ids may not be random at all.
    """
    digest = hashlib.blake2b(trace_id.encode("utf-8", "surrogatepass"), digest_size=7, person=b"tracejury").digest()
    return int.from_bytes(digest) < rate * _SPACE


def _field(trace_state: str, name: str) -> str:
    """The value of a field of the first `ot` member, "" where there is none."""
    fields = (field.partition(":") for field in ot_value(trace_state).split(";"))
    return next((text for key, _, text in fields if key == name), "")
