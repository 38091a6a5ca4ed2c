"""Quotes in texts: found as the evidence gate finds them, marked, and kept where the text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.web.trace.marks import (
    AROUND,
    MAX_LINES,
    MAX_MARKS,
    Quote,
    QuoteMark,
    Shown,
    find_exact,
    find_folded,
    show,
)
from tracejury.schemas.text.terminal import safe


def marked(shown: Shown) -> list[tuple[str, tuple[str, ...]]]:
    """The marked pieces with their findings."""
    return [(piece.text, piece.finding_ids) for piece in shown.pieces if piece.finding_ids]


def test_a_quote_is_found_letter_by_letter_at_its_first_place() -> None:
    """Another place of the same words is left alone."""
    assert find_exact("one two one", [Quote("f", "one"), Quote("g", "three")]) == [QuoteMark(0, 3, "f")]


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("The  Mean\nis 42.", "the mean is 42", "The  Mean\nis 42"),
        ("cafe\u0301 noir", "caf\u00e9 NOIR", "cafe\u0301 noir"),
        ("a zero\u200bwidth thing", "zerowidth", "zero\u200bwidth"),
    ],
)
def test_a_quote_is_found_folded(text: str, quote: str, found: str) -> None:
    """White space, case, composition and what is not seen do not matter; the mark is on the text as written."""
    (place,) = find_folded(text, [Quote("f", quote)])
    assert text[place.start : place.end] == found


def test_marks_that_overlap_are_told_apart() -> None:
    """Each piece says which findings quote it."""
    shown = show("abcdef", [QuoteMark(0, 4, "f"), QuoteMark(2, 6, "g")])
    assert marked(shown) == [("ab", ("f",)), ("cd", ("f", "g")), ("ef", ("g",))]


def test_a_long_text_is_cut_but_for_its_marks() -> None:
    """Its head and what surrounds a mark behind it stay; what is left out is counted."""
    text = "x" * 50_000 + "NEEDLE" + "y" * 50_000
    shown = show(text, find_exact(text, [Quote("f", "NEEDLE")]), limit=1000)
    assert marked(shown) == [("NEEDLE", ("f",))]
    assert sum(len(p.text) + p.left_out for p in shown.pieces) == shown.length == len(text)
    assert sum(len(p.text) for p in shown.pieces) == 1000 + 2 * AROUND + 6
    assert shown.cut


def test_many_lines_are_cut() -> None:
    """A text of short lines would be as long as one of many characters."""
    shown = show("a\n" * 10_000, limit=1_000_000)
    assert shown.pieces[0].text.count("\n") == MAX_LINES - 1
    assert shown.cut


@given(
    st.text(max_size=400),
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 50), st.sampled_from("fgh")), max_size=MAX_MARKS),
    st.integers(0, 300),
)
def test_pieces_are_the_text(text: str, spans: list[tuple[int, int, str]], limit: int) -> None:
    """Whatever is marked and cut: pieces and gaps together are the text, in order, safe, and no mark is lost."""
    marks = [QuoteMark(a, min(a + n, len(text)), f) for a, n, f in spans if a < len(text)]
    shown = show(text, marks, limit)
    at = 0
    told: set[str] = set()
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if plain == text:
        for piece in shown.pieces:
            if piece.left_out:
                at += piece.left_out
                continue
            end = at
            while safe(text[at:end]) != piece.text:
                end += 1
                assert end <= len(text)
            at = end
        assert at == len(text)
    told.update(f for piece in shown.pieces for f in piece.finding_ids)
    assert told == {p.finding_id for p in marks}


def test_a_text_that_is_too_long_is_not_folded() -> None:
    """It would take longer than a page may; letter by letter it is searched all the same."""
    text = "A" * 2_000_000 + " needle"
    assert find_folded(text, [Quote("f", "NEEDLE")]) == []
    assert find_exact(text, [Quote("f", "needle")])
