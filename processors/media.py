"""Pictures, sound and files in the texts of a span, in whatever form a convention or an API writes them.

Sources: GenAI's parts `blob`, `uri` and `file`; OpenAI's `image_url`, `input_image`, `input_audio`, `file` and
`input_file`; Anthropic's `source`; Gemini's `inlineData` and `fileData`; Bedrock's `image`; MCP's and LangChain's
`data` with a type; the Vercel AI SDK's `image` and `file`; OpenInference's flat keys; and `data:` URLs in any text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import orjson

from tracejury.schemas.media import DATA_URL, PICTURES, from_base64, media_type, picture_size, url_base64
from tracejury.schemas.spans import LogRecord, Span

MOST: Final = 100
"""Parts of a span that are told."""

MAX_READ: Final = 40_000_000
"""Longest text that is searched, in characters."""

_TYPES: Final = ("media_type", "mime_type", "mimeType", "mediaType")
_CONTENTS: Final = ("data", "content", "base64", "blob", "bytes", "file_data", "image", "result")
_PLACES: Final = ("image_url", "file_url", "fileUri", "file_uri", "url", "uri", "image", "file_id")
_NAMES: Final = ("filename", "file_name", "name", "title")
_KINDS: Final = frozenset({"image", "audio", "video", "document", "file", "blob", "uri"})
_WRAPPERS: Final = frozenset({"input_audio", "inlineData", "inline_data", "fileData", "file_data", "image_url", "image",
                              "audio", "video"})  # fmt: skip
"""Keys of objects that hold or name a file by themselves; `_INNER` do so within a part that is one."""
_INNER: Final = frozenset({"file", "source", "document", "resource", "blob", "s3Location"})
_PRODUCED: Final = frozenset({"image_generation_call"})
_TEXTS: Final = ("text/", "application/json")
_SCHEMES: Final = ("data:", "DATA:")
_HINTS: Final = (
    *_SCHEMES, '"image', 'image"', '"audio', 'audio"', '"video', 'video"', '"file', 'file"', '"document', '"blob',
    '"uri', "mime", "media_type", "mediaType", "inline",
)  # fmt: skip
"""What a text has, as it stands in JSON, that holds or names a file: prose with such words is not parsed."""
_REMOTE: Final = re.compile(r"(?:https?|gs|s3|file)://\S{1,2000}")
_FLAT: Final = ("image.url", "image_url", "image_url.url", "audio.url", "audio_url", "file.url")
_LEAST: Final = 16  # characters of base64 that may be a file
_MAX_DEPTH: Final = 30
_LONGEST: Final = 200  # characters of a stated type or name


@dataclass(frozen=True, slots=True)
class SpanMedia:
    """A picture, sound or file. `kind`: by its bytes; "" where they show none, or where it was not sent.

    `stated`: the type that its sender says; `name`: its file's; `digest`: SHA-256 of `data`, "" where it is
    `elsewhere`: an address or an id. `pixels`: width and height of a picture, None where its header does not say.
    """

    kind: str
    stated: str
    name: str
    size: int = 0
    digest: str = ""
    elsewhere: str = ""
    pixels: tuple[int, int] | None = None
    data: bytes = field(default=b"", repr=False, compare=False)


def media_of(span: Span, logs: Iterable[LogRecord] = ()) -> list[SpanMedia]:
    """The pictures, sound and files of a span, its events and log records, each once, in order; at most `MOST`."""
    found: dict[tuple[str, str], SpanMedia] = {}
    for key, text in _texts(span, logs):
        if len(text) <= MAX_READ and (any(hint in text for hint in _HINTS) or key.endswith(_FLAT)):
            for one in _in_text(key, text):
                found.setdefault((one.digest, one.elsewhere), one)
                if len(found) == MOST:
                    return list(found.values())
    return list(found.values())


def first_media(part: Mapping[str, Any]) -> SpanMedia | None:
    """The first picture, sound or file that a part of a message holds or names."""
    return next(_in_json(part, 0), None)


def _texts(span: Span, logs: Iterable[LogRecord]) -> Iterator[tuple[str, str]]:
    yield from span.attributes.items()
    for event in span.events:
        yield from event.attributes.items()
    for record in logs:
        yield "", record.body
        yield from record.attributes.items()


def _in_text(key: str, text: str) -> Iterator[SpanMedia]:
    value: Any = None
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:  # such as one that was cut
            value = None
    if value is not None:
        yield from _in_json(value, 0)
    elif key.endswith(_FLAT) and _REMOTE.fullmatch(text):
        yield _reference(text, "")
    else:
        yield from _in_words(text)


def _in_json(value: Any, depth: int, *, inside: bool = False) -> Iterator[SpanMedia]:
    """`inside`: what wraps the value is a part that holds or names a file."""
    if isinstance(value, str):
        yield from _in_words(value)
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(value, list):
        for inner in value:
            yield from _in_json(inner, depth + 1)
    elif isinstance(value, Mapping):
        stated = _first(value, _TYPES) or _text(value.get("format"))
        about = inside or _is_media(value, stated)
        one, read = _part(value, stated) if about else (None, "")
        if one is not None:
            yield one
        for key, inner in value.items():
            if key != read:
                yield from _in_json(inner, depth + 1, inside=key in _WRAPPERS or (about and key in _INNER))


def _is_media(value: Mapping[str, Any], stated: str) -> bool:
    """Whether an object is a part that holds or names a file, by its type, modality or stated media type."""
    kind = _text(value.get("type"))
    known = kind in _PRODUCED or kind.removeprefix("input_").removesuffix("_url") in _KINDS
    return known or _text(value.get("modality")) in _KINDS or "/" in stated or "image_url" in value


def _part(value: Mapping[str, Any], stated: str) -> tuple[SpanMedia | None, str]:
    """The file that a part holds or names itself, and the key that says so."""
    name = _first(value, _NAMES)
    is_text = stated.lower().startswith(_TEXTS)
    for key in _CONTENTS:
        text = _text(value.get(key))
        url = DATA_URL.fullmatch(text) if text.startswith(_SCHEMES) else None
        data = from_base64(url_base64(url) if url else text) if len(text) >= _LEAST else None
        if data and (media_type(data) or ("/" in stated and not is_text)):
            return _sent(data, (url and url["type"]) or stated, name), key
    for key in () if is_text else _PLACES:
        text = _text(value.get(key))
        if _REMOTE.fullmatch(text) or (key == "file_id" and text):
            return _reference(text, stated or _text(value.get("modality")) or _text(value.get("type")), name), key
    return None, ""


def _in_words(text: str) -> Iterator[SpanMedia]:
    """`data:` URLs: of base64, and pictures as plain text (SVG)."""
    if not any(scheme in text for scheme in _SCHEMES):
        return
    for url in DATA_URL.finditer(text):
        stated, plain = url["type"] or "", url["plain"]
        data = from_base64(url_base64(url)) if plain is None else unquote_to_bytes(plain)
        if data and (plain is None or stated.lower().startswith("image/")):
            yield _sent(data, stated, "")


def _sent(data: bytes, stated: str, name: str) -> SpanMedia:
    kind = media_type(data)
    pixels = picture_size(data) if kind in PICTURES else None
    digest = hashlib.sha256(data).hexdigest()
    return SpanMedia(kind, stated[:_LONGEST], name[:_LONGEST], len(data), digest, "", pixels, data)


def _reference(place: str, stated: str, name: str = "") -> SpanMedia:
    return SpanMedia("", stated[:_LONGEST], name[:_LONGEST], elsewhere=place)


def _first(value: Mapping[str, Any], keys: Iterable[str]) -> str:
    return next((text for key in keys if (text := _text(value.get(key)))), "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
