"""The limits of one OTLP request. What exceeds `request_bytes` is refused; all else is cut, marked and counted."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

MIB: Final = 1 << 20
DEEPEST: Final = 64
"""Levels of arrays and key-value lists in one value that are read at all (protobuf's own parser stops at about 47)."""

CUT_MARK: Final = "… [cut]"
"""Ends every text that a limit shortened; stands in for a value that is nested too deep."""


class Limits(BaseModel):
    """Sizes in bytes of UTF-8, after decompression; counts are per span, log record, event, link or resource."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request_bytes: int = Field(default=64 * MIB, ge=1)
    attributes: int = Field(default=16_384, ge=1)
    value_bytes: int = Field(default=32 * MIB, ge=64)
    name_bytes: int = Field(default=4_096, ge=64)
    """Names and attribute keys."""
    events: int = Field(default=16_384, ge=1)
    links: int = Field(default=16_384, ge=1)
    value_depth: int = Field(default=DEEPEST, ge=1, le=DEEPEST)
