"""The glossary for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.collector.queries.explain.glossary import by_kind
from tracejury.schemas.queries.glossary import Term
from tracejury.schemas.text.terminal import one_line, safe
from tracejury.schemas.wire.explain import TermJson

from .tables import plain_table

_TEXT = 90


def terms_table(terms: Iterable[Term]) -> RenderableType:
    """A line a term, under the heading of its kind."""
    parts: list[RenderableType] = []
    for heading, group in by_kind(terms).items():
        parts += [Text(f"\n{heading}", style="bold")]
        table = plain_table("term", "")
        for term in group:
            table.add_row(Text(safe(term.key)), Text(one_line(term.text, _TEXT)))
        parts.append(table)
    return Group(*parts)


def term_text(term: TermJson) -> RenderableType:
    """All there is to say of one."""
    parts: list[RenderableType] = [Text(safe(term.title), style="bold"), Text(safe(term.text))]
    for section in term.sections:
        if section.lines:
            parts.append(Text(f"\n{safe(section.title)}"))
            parts += [Text(f"  - {safe(line)}") for line in section.lines]
    if term.see:
        parts.append(Text(f"\nSee also: {', '.join(term.see)}", style="dim"))
    return Group(*parts)
