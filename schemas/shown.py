"""Recorded text as a judge is shown it: nothing hidden, nothing that could pass for our own words.

The evidence gate compares quotes under the same function, so what a judge copies is found again.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from .text.media_marks import without_base64

TAGS: Final = range(0xE0000, 0xE0080)
"""Unicode tag characters: an invisible copy of ASCII, a known carrier of hidden instructions."""

_BREAKS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
"""Line ends: Unicode's mandatory breaks, and those of Python's `splitlines`."""

_UNSEEN: Final = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # controls
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # joiners, fillers, a mark of direction
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"  # zero width, bidirectional controls
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variation selectors: bytes can be hidden in them
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # annotations, format controls of notations
    "\ud800-\udfff"  # lone surrogates
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tag characters and what is reserved beside them
)
_SUSPECT: Final = re.compile(f"[{_UNSEEN}]+")
_ODD: Final = re.compile(f"[{_UNSEEN}\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")

_TOKENS: Final = ("<|", "|>", "<\uff5c", "\uff5c>", "INST]", "SYS>>", "<s>", "</s>", "_of_turn>")
_SPECIAL: Final = re.compile(
    "(?<=<)(?=[|\uff5c])|(?<=[|\uff5c])(?=>)|"
    r"(?<=\[)(?=/?INST\])|(?<=<)(?=<?/?SYS>>)|(?<=<)(?=/?s>)|(?<=<)(?=(?:start|end)_of_turn>)"
)
"""Points that split the special tokens of chat templates: <|im_start|>, [INST], <<SYS>>, </s>, <start_of_turn>."""


def shown(text: str) -> str:
    """`text` with plain line feeds and without what the eye does not see, or cannot read (`without_base64`).

    Runs of tag characters become the text that they hide, in ⟨hidden: …⟩; other invisible, control and lone surrogate
    characters go; a space stands inside the brackets of chat templates' special tokens. Idempotent.
    """
    text = without_base64(text)
    if not _is_plain(text) and _ODD.search(text):
        text = _SUSPECT.sub(_revealed, _BREAKS.sub("\n", text))
    return _SPECIAL.sub(" ", text) if any(token in text for token in _TOKENS) else text


def shown_line(text: str, limit: int) -> str:
    """`shown` text on one line of at most `limit` characters, cut at its end; cost is bounded by `limit`."""
    line = " ".join(shown(text[: 4 * limit]).split()) if text else ""
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def _revealed(match: re.Match[str]) -> str:
    letters = (chr(ord(c) - TAGS.start) for c in match[0] if ord(c) in TAGS)
    hidden = "".join(c for c in letters if c.isprintable())
    return f"\u27e8hidden: {hidden}\u27e9" if hidden else ""


def folded(text: str) -> str:
    """`shown` text with white space folded and case dropped: how a tolerant comparison sees it."""
    return " ".join(unicodedata.normalize("NFC", shown(text)).split()).casefold()
