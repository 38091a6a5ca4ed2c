"""Span content printed to terminals can do nothing there."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tracejury.collector.cli.render.tables import content
from tracejury.schemas.text.terminal import one_line, safe


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\x7f", "\\x7f"),
        ("a\rb", "a\\x0db"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\u200b", "\\u200b"),
        ("\u2028", "\\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("a\tb\nc", "a    b\nc"),
        ("naïve 日本語 🙂 [bold]", "naïve 日本語 🙂 [bold]"),
    ],
)
def test_each_hidden_character_is_shown_as_an_escape(hostile: str, shown: str) -> None:
    """Controls, bidi, zero width, separators and surrogates are named; what one can see stays."""
    assert safe(hostile) == shown


@given(st.text(st.characters(codec=None)))
def test_nothing_hidden_passes(text: str) -> None:
    """Whatever the text, the result has no control (but line feeds), format, surrogate or separator character."""
    hidden = {c for c in safe(text) if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert hidden <= {"\n"}


@given(st.text(), st.integers(min_value=1, max_value=30))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    """No line break, and never longer than the limit."""
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(("length", "shown"), [(9, "x" * 9), (10, "x" * 10), (11, "x" * 9 + "…")])
def test_one_line_cuts_beyond_its_limit_only(length: int, shown: str) -> None:
    """At the limit the text is whole, one above it is cut and marked."""
    assert one_line("x" * length, 10) == shown


def test_content_is_never_markup() -> None:
    """Square brackets of span content reach the screen as they are, without style and without links."""
    console = Console(width=80, force_terminal=True, color_system="truecolor")
    with console.capture() as capture:
        console.print(content("[red]x[/red] [link=http://evil]y[/link] \x1b[31m"))
    assert capture.get() == "[red]x[/red] [link=http://evil]y[/link] \\x1b[31m\n"
