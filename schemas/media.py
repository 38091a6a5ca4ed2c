"""Pictures, sound and files by their own bytes: what they are, whatever their sender says, and how large a picture is.

Nothing is decoded: a few bytes at the beginning say all that is asked. Sources: RFC 2083 (PNG), ITU-T T.81 (JPEG),
GIF89a, RFC 9649 (WebP), ISO/IEC 23008-12 (AVIF's boxes).
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import unquote

PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
SOUNDS: Final = ("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac")
PDF: Final = "application/pdf"

_LEAST: Final = 12  # bytes that the longest mark takes
_BASE64: Final = "[A-Za-z0-9+/_-]"
_ALPHABET: Final = re.compile(rf"{_BASE64}+={{0,2}}")
_WRAPPED: Final = "|".join(rf"(?<=[\n, ]{_BASE64}{{{length}}})\r?\n" for length in (64, 76))  # RFC 1421, RFC 2045
DATA_URL: Final = re.compile(
    r"(?:data|DATA):(?P<type>[A-Za-z0-9.+-]{1,40}/[A-Za-z0-9.+-]{1,80}+)?+"
    r"(?:;(?!\ ?(?:base64|BASE64)\ ?,)[^;,\r\n]{0,80}+){0,4}+"
    r"(?:;\ ?(?:base64|BASE64)\ ?,\ ?"
    rf"(?P<base64>{_BASE64}++(?:(?:%2[BbFf]|{_WRAPPED}){_BASE64}++)*+(?:=|%3[Dd]){{0,2}})"
    r"|,(?P<plain>[A-Za-z0-9+/_%=.-]+))"
)
"""A `data:` URL (RFC 2397) in a text: its `type`, if it has one, and its contents as `base64` or as `plain` text."""
_MOST_ITEMS: Final = 1000  # of an AVIF
_GIF_EXTENSION: Final = 0x21
_GIF_FRAME: Final = 0x2C
_JPEG_MARKER: Final = 0xFF
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def media_type(data: bytes) -> str:
    """The type that the first bytes show: one of `PICTURES`, `SOUNDS` or `PDF`; "" for anything else."""
    head = data[:_LEAST]
    if head.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12], "")
    if head[4:8] == b"ftyp":
        return "image/avif" if head[8:12] in (b"avif", b"avis") else ""
    found = next((kind for mark, kind in _MARKS.items() if head.startswith(mark)), "")
    return found or ("audio/mpeg" if head[:1] == b"\xff" and head[1:2] in (b"\xfb", b"\xf3", b"\xf2", b"\xfa") else "")


_MARKS: Final = {
    b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif",
    b"ID3": "audio/mpeg", b"OggS": "audio/ogg", b"fLaC": "audio/flac", b"%PDF-": PDF,
}  # fmt: skip


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a picture in pixels by its header; None where it does not say, or for what is no picture."""
    read = _SIZES.get(media_type(data))
    try:
        return read(data) if read else None
    except (struct.error, IndexError):
        return None


def _png(data: bytes) -> tuple[int, int] | None:
    return _pair(">II", data, 16) if data[12:16] == b"IHDR" else None


def _gif(data: bytes) -> tuple[int, int] | None:
    """The screen, or a larger first frame."""
    width, height = _pair("<HH", data, 6)
    at = 13 + _palette(data[10])
    while data[at] == _GIF_EXTENSION:  # a label, then blocks up to an empty one
        at += 2
        while data[at]:
            at += 1 + data[at]
        at += 1
    if data[at] != _GIF_FRAME:
        return None
    frame = _pair("<HH", data, at + 5)
    return max(width, frame[0]), max(height, frame[1])


def _palette(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at < len(data) and data[at] == _JPEG_MARKER:
        marker = data[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = _pair(">HH", data, at + 5)
            return width, height
        at += 1 if marker == _JPEG_MARKER else 2 + struct.unpack_from(">H", data, at + 2)[0]
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = _pair("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _avif(data: bytes) -> tuple[int, int] | None:
    """The largest of the sizes that its items have, wherever these stand in it."""
    found = list[tuple[int, int]]()
    at = data.find(b"ispe")
    while at > 0:
        if len(found) == _MOST_ITEMS:
            return None
        found.append(_pair(">II", data, at + 8))
        at = data.find(b"ispe", at + 4)
    return (max(w for w, _ in found), max(h for _, h in found)) if found else None


def _pair(form: str, data: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, data, at)
    return first, second


_SIZES: Final[Mapping[str, Callable[[bytes], tuple[int, int] | None]]] = dict(
    zip(PICTURES, (_png, _jpeg, _gif, _webp, _avif), strict=True)
)


def url_base64(url: re.Match[str]) -> str:
    """The base64 of a match of `DATA_URL`; "" where it has none."""
    text = url["base64"] or ""
    return unquote(text) if "%" in text else text


def from_base64(text: str) -> bytes | None:
    """The bytes of base64, also in lines, of its form for URLs and without padding; None for other text."""
    text = text.strip()
    if "\n" in text:
        text = text.replace("\r", "").replace("\n", "")
    if not _ALPHABET.fullmatch(text):
        return None
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error:
        return None
