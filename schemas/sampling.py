"""Sampling probabilities: what an upstream sampler says of a span, and a hash that decides alike in every process."""

from __future__ import annotations

import hashlib
from typing import Final

_SPACE: Final = 2**56
_DIGITS: Final = 14


def upstream_probability(trace_state: str) -> float:
    """The probability with which an upstream sampler kept the span, from its W3C tracestate; 1.0 where none says.

    OpenTelemetry's `ot` member carries `th`, the rejection threshold as up to 14 hex digits without trailing zeros; the
    probability is 1 - th / 2^56 (OpenTelemetry specification, "TraceState: Probability Sampling").
    """
    for member in trace_state.split(","):
        key, _, value = member.strip().partition("=")
        if key == "ot":
            return _probability(value)
    return 1.0


def _probability(value: str) -> float:
    for field in value.split(";"):
        name, _, digits = field.partition(":")
        if name == "th" and 0 < len(digits) <= _DIGITS and all(c in "0123456789abcdef" for c in digits):
            return 1.0 - int(digits.ljust(_DIGITS, "0"), 16) / _SPACE
    return 1.0


def chosen(trace_id: str, rate: float) -> bool:
    """Whether a trace is in a sample of `rate` (0 to 1): by a hash of its id, so alike in every process.

    The hash is not the id's own randomness: an upstream sampler may have used that, and ids may not be random at all.
    """
    digest = hashlib.blake2b(trace_id.encode("utf-8", "surrogatepass"), digest_size=7, person=b"tracejury").digest()
    return int.from_bytes(digest) < rate * _SPACE
