"""Images in the attributes of a span: those that were sent with it, and the addresses of others.

A page shows an image only from the span itself, as a `data:` URL of a bitmap. Nothing is loaded from elsewhere, and no
SVG is shown, which may hold scripts and links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from tracejury.schemas.normalized import NormalizedSpan

MAX_IMAGE: Final = 1_000_000
"""Bytes of an image that is shown."""

MAX_SHOWN: Final = 4_000_000
"""Bytes of all images that are shown at once."""

MAX_READ: Final = 20_000_000
"""Longest attribute that is searched, in characters."""

_SHOWN: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_DATA: Final = re.compile(r"data:(image/[a-z0-9.+-]{1,40});base64,([A-Za-z0-9+/]+={0,2})")
_REMOTE: Final = re.compile(r"https?://\S+")
_MAX_DEPTH: Final = 30


@dataclass(frozen=True, slots=True)
class SpanImage:
    """An image. `url`: a `data:` URL, "" where it is not shown; `elsewhere`: the address of one that was not sent."""

    kind: str
    size: int = 0
    url: str = ""
    elsewhere: str = ""


def images(span: NormalizedSpan) -> list[SpanImage]:
    """The images of a span, each once."""
    found: dict[SpanImage, None] = {}
    for key, value in span.raw.attributes.items():
        if len(text := str(value)) <= MAX_READ and "image" in key + text:
            found |= dict.fromkeys(_in_text(key, text))
    return list(found)


def _in_text(key: str, text: str) -> Iterator[SpanImage]:
    value: Any = None
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:  # such as one that was cut
            value = None
    if value is not None:
        yield from _in_json(value, 0)
    elif key.endswith(("image.url", "image_url", "image_url.url")):
        yield from _of_url(text)
    else:
        yield from _of_data(text)


def _in_json(value: Any, depth: int) -> Iterator[SpanImage]:
    if isinstance(value, str):
        yield from _of_data(value)
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(value, Mapping):
        kind = value.get("media_type") or value.get("mime_type") or value.get("mimeType")
        content = value.get("data") or value.get("content")
        if isinstance(kind, str) and kind.startswith("image/") and isinstance(content, str):
            yield from _of_data(content if content.startswith("data:") else f"data:{kind};base64,{content}")
            return
        about = isinstance(kind, str) and kind.startswith("image/")
        about = about or value.get("modality") == "image" or value.get("type") in ("image", "image_url")
        for key, inner in value.items():
            if isinstance(inner, str) and (key == "image_url" or (about and key in ("url", "uri"))):
                yield from _of_url(inner)
            elif key == "image_url" and isinstance(inner, Mapping) and isinstance(inner.get("url"), str):
                yield from _of_url(inner["url"])
            else:
                yield from _in_json(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _in_json(inner, depth + 1)


def _of_url(url: str) -> Iterator[SpanImage]:
    if _REMOTE.match(url):
        yield SpanImage("image", elsewhere=url)
    else:
        yield from _of_data(url)


def _of_data(text: str) -> Iterator[SpanImage]:
    if "data:image/" not in text:
        return
    for match in _DATA.finditer(text):
        kind, content = match.groups()
        size = len(content) * 3 // 4 - content.count("=")
        shown = kind in _SHOWN and size <= MAX_IMAGE
        yield SpanImage(kind, size, match[0] if shown else "")
