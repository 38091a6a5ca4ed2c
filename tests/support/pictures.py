"""Pictures for tests: headers that say what they are, and messages that hold them."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any

from tracejury.judges.llm.picture import Picture, picture_of


def png(width: int = 100, height: int = 100, content: bytes = b"") -> bytes:
    """The beginning of a PNG of that many pixels, with anything behind it."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 6, 0, 0, 0) + content


def picture(width: int = 100, height: int = 100, content: bytes = b"") -> Picture:
    """The same as prompts carry it."""
    made = picture_of(png(width, height, content))
    assert made is not None
    return made


def mark_of(data: bytes) -> str:
    """What a transcript says in the place of a picture, but for its beginning."""
    return f", {len(data) / 1000:.1f} kB, sha256 {hashlib.sha256(data).hexdigest()[:12]}]"


def blob(data: bytes, stated: str = "image/png") -> dict[str, Any]:
    """A part of a message of OpenTelemetry's conventions that holds a picture."""
    return {"type": "blob", "modality": "image", "mime_type": stated, "content": base64.b64encode(data).decode()}
