"""How recorded text is shown to a judge: nothing hidden, nothing that could pass for our own words.

The evidence gate compares quotes under the same function, so what a judge copies is found again.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

TAGS: Final = range(0xE0000, 0xE0080)
"""Unicode tag characters: an invisible copy of ASCII, a known carrier of hidden instructions."""

_BREAKS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_SPECIAL: Final = re.compile(r"<\||\|>")
# What may need a second look: controls, format characters, surrogates, private use, and the tokens of chat templates.
_SUSPECT: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ud800-\udfff\ufff0-\ufffb\U000e0000-\U000e0fff]+"
)


def shown(text: str) -> str:
    """`text` with plain line feeds and without what the eye does not see.

    Runs of tag characters become the text that they hide, in ⟨hidden: …⟩; other invisible, control and lone surrogate
    characters go; the brackets of chat templates' special tokens (`<|`, `|>`) are taken apart. Idempotent.
    """
    if "\r" in text or not text.isascii() or not text.isprintable():
        text = _SUSPECT.sub(_plain, _BREAKS.sub("\n", text))
    return _SPECIAL.sub(_apart, text) if "<|" in text or "|>" in text else text


def _plain(match: re.Match[str]) -> str:
    letters = (chr(ord(c) - TAGS.start) for c in match[0] if ord(c) in TAGS)
    hidden = "".join(c for c in letters if c.isprintable())
    return f"\u27e8hidden: {hidden}\u27e9" if hidden else ""


def _apart(match: re.Match[str]) -> str:
    return "< |" if match[0] == "<|" else "| >"


def folded(text: str) -> str:
    """`shown` text with white space folded and case dropped: how a tolerant comparison sees it."""
    return " ".join(unicodedata.normalize("NFC", shown(text)).split()).casefold()
