"""Which pictures and sounds of spans a browser may show.

All of it is hostile. The bytes decide, never what the sender says: bitmaps of a bounded number of pixels, and sound.
Anything else, SVG and HTML among them, is a download that no browser renders. What was not sent is told by its address;
nothing is loaded from there, neither by the page nor by the collector.
"""

from __future__ import annotations

from typing import Final

from tracejury.processors.media import SpanMedia
from tracejury.schemas.media import PICTURES, SOUNDS

MAX_PIXELS: Final = 25_000_000
"""Of a picture that is shown: a browser takes four bytes for each, however few the file has."""

MAX_SIDE: Final = 16_384
MAX_SHOWN: Final = 5_000_000
"""Bytes of a picture or sound that is shown."""

MOST_SHOWN: Final = 20
"""Pictures and sounds of one view that are shown; others can be opened."""


def is_shown(one: SpanMedia) -> bool:
    """Whether a browser may show it within a page."""
    if one.size > MAX_SHOWN:
        return False
    if one.kind in PICTURES and one.pixels is not None:
        width, height = one.pixels
        return 0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS
    return one.kind in SOUNDS
