"""The limits of one OTLP request: a request that is too large is refused; all else is cut, marked and counted."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from tracejury.schemas.config_base import MIB, Section
from tracejury.schemas.errors import TooLargeError

DEEPEST: Final = 64
"""Levels of arrays and key-value lists in one value that are read at all (protobuf's own parser stops at 48 arrays)."""

CUT_MARK: Final = "… [cut]"
"""Ends every text that a limit shortened; stands in for a value that is nested too deep."""


class Limits(Section):
    """Sizes in bytes of UTF-8; counts are per span, log record, event, link or resource, unless said otherwise."""

    request_bytes: int = Field(default=64 * MIB, ge=1)
    """Bytes of one request, after decompression; beyond it the request is refused for good."""
    items: int = Field(default=131_072, ge=1)
    """Spans, log records or metrics of one request, with its resources and scopes; refused beyond it, too."""
    values: int = Field(default=2_097_152, ge=1)
    """Objects, lists and list items of one request at all levels (protobuf: messages); refused beyond it, too."""
    shared_bytes: int = Field(default=512 * MIB, ge=1)
    """Bytes of resource attributes of one request, counted for each item that shares them; refused beyond it, too."""
    attributes: int = Field(default=16_384, ge=1)
    """Attributes; more are dropped."""
    value_bytes: int = Field(default=32 * MIB, ge=64)
    """Bytes of one value; the rest is cut off."""
    name_bytes: int = Field(default=4_096, ge=64)
    """Bytes of a name or an attribute's key; the rest is cut off."""
    events: int = Field(default=16_384, ge=1)
    """Events of a span; more are dropped."""
    links: int = Field(default=16_384, ge=1)
    """Links of a span; more are dropped."""
    request_events: int = Field(default=131_072, ge=1)
    """Events and links of all spans of one request; more are dropped."""
    value_depth: int = Field(default=DEEPEST, ge=1, le=DEEPEST)
    """Levels of arrays and key-value lists in one value; what is deeper is cut off."""

    def check_items(self, count: int) -> None:
        """Raises TooLargeError where a request holds more than `items`."""
        if count > self.items:
            raise TooLargeError(f"the request holds more than {self.items} items (limits.items): send smaller batches")

    def check_values(self, count: int) -> None:
        """Raises TooLargeError where a request holds more than `values`."""
        if count > self.values:
            raise TooLargeError(
                f"the request holds more than {self.values} values (limits.values): send smaller batches"
            )

    def check_shared(self, count: int) -> None:
        """Raises TooLargeError where resource attributes, which each item is stored with, exceed `shared_bytes`."""
        if count > self.shared_bytes:
            raise TooLargeError(
                f"the resource attributes of all items exceed {self.shared_bytes} bytes (limits.shared_bytes): "
                "shorten them"
            )

    def check_bytes(self, count: int) -> None:
        """Raises TooLargeError where a request has more than `request_bytes`."""
        if count > self.request_bytes:
            raise TooLargeError(
                f"the request is larger than {self.request_bytes} bytes (limits.request_bytes): send smaller batches"
            )
