r"""Text of spans made safe for a terminal.

Span content is hostile: an escape sequence can clear the screen, rewrite what stands above, set the window's title
or reach the clipboard; a bidi override makes text read other than it is. Each such character is shown as an escape
(`\x1b`, `\u202e`) and nothing else is changed. Pass the result to rich as `rich.text.Text`, never as markup.
"""

from __future__ import annotations

import re
import unicodedata

# Other, control (Cc), format (Cf: bidi and zero width), surrogate (Cs); line and paragraph separators (Zl, Zp).
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_SUSPECT = re.compile(r"[^\x20-\x7e\n]")
_SPACE = re.compile(r"\s+")


def safe(text: str) -> str:
    """`text` without control, format or separator characters; line feeds stay, tabs become spaces."""
    return _SUSPECT.sub(_escape, text)


def one_line(text: str, limit: int = 0) -> str:
    """`text` safe and on one line: white space folded, cut at `limit` characters with "…" (0: not cut)."""
    if limit and len(text) > 4 * limit:
        text = text[: 4 * limit]  # megabytes are not scanned for the few characters that are shown
    line = _SPACE.sub(" ", safe(_SPACE.sub(" ", text))).strip()
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char == "\t":
        return "    "
    if unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    if code < 0x100:  # noqa: PLR2004  two hex digits reach that far
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004  likewise four
