"""Base64 in texts as a few words: a judge reads nothing in it, and it takes the room of what it could read."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from tracejury.schemas.media import DATA_URL, from_base64, media_type, url_base64

HASH_LENGTH: Final = 12
"""Hexadecimal digits of a SHA-256 in a mark."""

_HASH: Final = re.compile(rf", sha256 ([0-9a-f]{{{HASH_LENGTH}}})\]")
_LEAST_URL: Final = 64  # characters of base64 in a `data:` URL
_LEAST_RUN: Final = 1000  # of base64 that nothing announces
_VARIED: Final = 20  # different characters that a run of it has at its beginning: hexadecimal digits are 16
_STEP: Final = 10
_MEGABYTE: Final = 1_000_000
_MARKS: Final = ("base64", "BASE64")
_RUN: Final = re.compile(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{_LEAST_RUN},}}+={{0,2}}")
_SAMPLE: Final = _LEAST_RUN // _STEP - 1
_SAMPLED: Final = re.compile(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{_SAMPLE}}}")


def without_base64(text: str) -> str:
    """`text` with each `data:` URL and each long run of base64 as its type, size and hash; the same if it has none.

    Such as "[image/png, 12.3 kB, sha256 0a1b2c3d4e5f]". The type is that of the first bytes, else as stated.
    """
    if len(text) < _LEAST_URL:
        return text
    if any(mark in text for mark in _MARKS):
        text = DATA_URL.sub(_without_url, text)
    if len(text) >= _LEAST_RUN and _may_have_run(text[::_STEP]):
        text = _RUN.sub(lambda found: _told(found[0], "base64") if _is_varied(found[0]) else found[0], text)
    return text


def _without_url(url: re.Match[str]) -> str:
    encoded = url_base64(url)
    return url[0] if len(encoded) < _LEAST_URL else _told(encoded, url["type"] or "file")


def _may_have_run(sample: str) -> bool:
    """Whether each tenth character of a text shows a run: most texts have white space among fewer of them."""
    return max(map(len, sample.split()), default=0) >= _SAMPLE and _SAMPLED.search(sample) is not None


def _is_varied(run: str) -> bool:
    return len(set(run[:_LEAST_RUN])) > _VARIED


def _told(encoded: str, stated: str) -> str:
    data = from_base64(encoded)
    if data is None:  # cut within
        data = from_base64(encoded[: len(encoded) // 4 * 4].rstrip("=")) or encoded.encode()
    return f"[{media_type(data) or stated}, {size_and_hash(len(data), hashlib.sha256(data).hexdigest())}]"


def size_and_hash(size: int, digest: str) -> str:
    """The end of a mark: a file's bytes and the beginning of its SHA-256, such as "12.3 kB, sha256 0a1b2c3d4e5f"."""
    told = f"{size / 1000:.1f} kB" if size < _MEGABYTE else f"{size / _MEGABYTE:.1f} MB"
    return f"{told}, sha256 {digest[:HASH_LENGTH]}"


def marked_hashes(text: str) -> list[str]:
    """The beginnings of SHA-256 that the marks in a text have, each once, in order of the first."""
    return list(dict.fromkeys(_HASH.findall(text)))
