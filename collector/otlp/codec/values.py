"""Attribute values as stored text, truncated to the limits.

Both decoders first turn an `AnyValue` into (kind, plain Python value) and end here, so equal data gets equal text.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson

from .limits import CUT_MARK, Limits

T = TypeVar("T")

_UTF8_WORST = 4  # bytes a character


class Invalid(Exception):  # noqa: N818 - a verdict on one item of a request, not an error of the program
    """One span or record that has to be rejected; its text is the reason, in words of ours only."""


class PartsLeft:
    """How many more events and links a request may have."""

    __slots__ = ("count",)

    def __init__(self, limits: Limits) -> None:
        self.count = limits.request_events


class Truncator:
    """Applies the limits to one span, record or resource and counts what it cut; `parts` are those of its request."""

    __slots__ = ("_parts", "cut", "limits", "safe_name", "safe_value")

    def __init__(self, limits: Limits, parts: PartsLeft | None = None) -> None:
        self.limits = limits
        self.cut = 0
        self._parts = parts or PartsLeft(limits)
        self.safe_value = limits.value_bytes // _UTF8_WORST
        """Characters that are within the limit for certain."""
        self.safe_name = limits.name_bytes // _UTF8_WORST
        """The same of names."""

    def text(self, text: str) -> str:
        """A value, at most `value_bytes` long."""
        return text if len(text) <= self.safe_value else self._shorten(text, self.limits.value_bytes)

    def name(self, text: str) -> str:
        """A name or key, at most `name_bytes` long."""
        return text if len(text) <= self.safe_name else self._shorten(text, self.limits.name_bytes)

    def head(self, items: Sequence[T], most: int) -> Sequence[T]:
        """The first `most` items."""
        if len(items) <= most:
            return items
        self.cut += len(items) - most
        return items[:most]

    def parts(self, items: Sequence[T], most: int) -> Sequence[T]:
        """The first `most` events or links of a span, and no more than its request may still have."""
        if not items:
            return items
        taken = self.head(items, min(most, self._parts.count))
        self._parts.count -= len(taken)
        return taken

    def stored(self, kind: str, value: Any) -> tuple[str, str]:
        """The stored text of a plain value, and its type ("string" once shortened: it is no JSON any more)."""
        whole = _TEXTS[kind](value)
        text = self.text(whole)
        return text, (kind if text is whole else "string")

    def _shorten(self, text: str, limit: int) -> str:
        raw = text.encode()
        if len(raw) <= limit:
            return text
        self.cut += 1
        return raw[: limit - len(CUT_MARK.encode())].decode(errors="ignore") + CUT_MARK


def plain_double(value: float) -> float | str:
    """A double as JSON can say it: the three values that are no numbers are strings, as in OTLP's JSON."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def plain_bytes(value: bytes) -> str:
    """Bytes as base64 text."""
    return base64.b64encode(value).decode("ascii")


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


_TEXTS: dict[str, Callable[[Any], str]] = {
    "string": str,
    "bytes": str,
    "double": lambda value: value if isinstance(value, str) else _json(value),
    "int": str,
    "bool": _json,
    "array": _json,
    "kvlist": _json,
    "empty": lambda _: "",
}
