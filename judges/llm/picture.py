"""Pictures that a prompt carries beside its text: which may be sent, how many, and about how many tokens they take.

They are hostile: the bytes decide what is sent, by the header alone. Nothing is decoded here, but by the model's
provider: bytes and pixels are bounded, and the types are those that all providers take.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from tracejury.schemas.media import media_type, picture_size
from tracejury.schemas.text.media_marks import HASH_LENGTH, marked_hashes

KINDS: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types that are sent."""

MAX_BYTES: Final = 3_750_000
"""Of one picture: 5 MB as base64, the most that Anthropic takes."""

MAX_PIXELS: Final = 25_000_000
MAX_SIDE: Final = 8_000
"""Of one picture, in pixels: the most that Anthropic takes."""

MOST: Final = 8
"""Pictures of one prompt."""

MOST_BYTES: Final = 4_000_000
"""Of all pictures of one prompt."""

LEAST_TOKENS: Final = 258
"""Of the smallest picture, as Gemini counts it."""

PIXELS_PER_TOKEN: Final = 750
"""As Anthropic counts them: width times height / 750."""

MOST_TOKENS: Final = 5_000
"""Of the largest: providers scale it down before they count."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that may be sent; make it by `picture_of`. `size`: width and height in pixels."""

    kind: str
    size: tuple[int, int]
    digest: str
    data: bytes = field(repr=False, compare=False)

    @property
    def mark(self) -> str:
        """The beginning of its SHA-256, by which marks in a record name it."""
        return self.digest[:HASH_LENGTH]

    @property
    def label(self) -> str:
        """The line that stands before it in a prompt."""
        return f"picture [{self.kind}, sha256 {self.mark}]:"

    @property
    def tokens(self) -> int:
        """About how many tokens a model reads in it, rather too many."""
        width, height = self.size
        return min(max(width * height // PIXELS_PER_TOKEN, LEAST_TOKENS), MOST_TOKENS)

    @property
    def url(self) -> str:
        """Its bytes as a `data:` URL."""
        return f"data:{self.kind};base64,{base64.b64encode(self.data).decode()}"


def picture_of(data: bytes) -> Picture | None:
    """The picture that these bytes are; None where they are none that may be sent."""
    kind, size = media_type(data), picture_size(data)
    if kind not in KINDS or size is None or len(data) > MAX_BYTES:
        return None
    width, height = size
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS):
        return None
    return Picture(kind, size, sha256(data).hexdigest(), data)


def chosen(pictures: Iterable[Picture], text: str, most_tokens: int = MOST * MOST_TOKENS) -> tuple[Picture, ...]:
    """The pictures whose marks stand in `text`, in that order, within the bounds: the last ones first."""
    known = {picture.mark: picture for picture in pictures}
    kept: list[Picture] = []
    taken, tokens = 0, 0
    for mark in reversed(marked_hashes(text)):
        picture = known.get(mark)
        if picture is None or taken + len(picture.data) > MOST_BYTES or tokens + picture.tokens > most_tokens:
            continue
        kept.append(picture)
        taken, tokens = taken + len(picture.data), tokens + picture.tokens
        if len(kept) == MOST:
            break
    return tuple(reversed(kept))


def tokens_of(pictures: Sequence[Picture]) -> int:
    """About how many tokens a model reads in them."""
    return sum(picture.tokens for picture in pictures)
