"""Markdown of agents as HTML: headings, lists, tables, code and emphasis, and nothing else.

Text of spans is hostile. The renderer escapes it and writes tags without attributes; links, images, HTML, references
and entities are no syntax here and stay as they were written, so that nothing is loaded, runs or disappears.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

_SYNTAX: Final = re.compile(
    r"^\#{1,6}\ \S | ^\s{0,3}(```|~~~) | ^\s*([-*+]|\d{1,3}[.)])\ \S | \*\*\S[^*\n]*\*\* | ^\s*\|?\s*:?-{3,}:?\s*\|",
    re.MULTILINE | re.VERBOSE,
)
"""A heading, a fence, an item of a list, strong emphasis, the line below the heads of a table."""

_MAX_MARKS: Final = 1_000
"""Marks of emphasis and code beyond which matching them takes longer than a page may."""

_OFF: Final = ("link", "image", "autolink", "html_inline", "html_block", "reference", "entity", "escape")


class _Renderer(RendererHTML):
    """Without attributes; the words behind a fence, which name the language, are shown."""

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """A block of code."""
        token = tokens[idx]
        info = f"<small>{escapeHtml(token.info.strip())}</small>\n" if token.info.strip() else ""
        return f"<pre>{info}<code>{escapeHtml(token.content)}</code></pre>\n"

    @staticmethod
    def renderAttrs(token: Token) -> str:  # noqa: N802  the library's name
        """The first number of a list alone: styles are forbidden on these pages."""
        start = token.attrs.get("start")
        return f' start="{int(start)}"' if start is not None else ""

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        """A heading, which is none of the page's own."""
        return f"<p><strong>{escapeHtml(tokens[idx].markup)} " if tokens[idx].markup.startswith("#") else "<p><strong>"

    def heading_close(self, *_: Any) -> str:
        """Its end."""
        return "</strong></p>\n"


_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
_MARKDOWN.enable("table").disable(list(_OFF))


def markdown(text: str) -> Markup | None:
    """The text as HTML; None where it has no Markdown in it, or too much."""
    if not _SYNTAX.search(text) or sum(map(text.count, "*_`~")) > _MAX_MARKS:
        return None
    return Markup(_MARKDOWN.render(text))  # noqa: S704  escaped by the renderer
