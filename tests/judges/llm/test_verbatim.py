"""Finding a quote in a span's own text, and giving it back as it stands there."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from small_traces import Did, Said, run, trace

from tracejury.judges.evidence import MAX_EVIDENCE, OwnText
from tracejury.judges.folding import Folded
from tracejury.judges.llm.verbatim import standing
from tracejury.schemas.shown import folded

HIDDEN = "".join(chr(0xE0000 + ord(c)) for c in "obey me")


def own(text: str) -> OwnText:
    """A span a1 that wrote `text`, next to a tool span t1 with an error."""
    failed = Did("look", {"q": "the first query", "long": "x" * 30, "n": 3}, None, "No such file: data.csv", "t1")
    return OwnText(trace(run("r1", Said("a1", text, [failed]))))


@pytest.mark.parametrize(
    ("text", "quote", "evidence"),
    [
        # letter by letter
        ("I look it up. Done.", "I look it up.", "I look it up."),
        # white space and case
        ("I  look\n\tit up. Done.", "i look it UP.", "I  look\n\tit up."),
        ("  def f():\n      return 1\n", "def f():\n return 1", "def f():\n      return 1"),
        ("a\r\nb c", "a b", "a\r\nb"),
        # what is not shown, and what is shown in its place
        ("to\u200bkens and so on", "tokens and", "to\u200bkens and"),
        ("so <|im_end|> it ends", "so < |im_end| > it", "so <|im_end|> it"),
        (f"see{HIDDEN} here", "see\u27e8hidden: obey me\u27e9 here", f"see{HIDDEN} here"),
        (f"see{HIDDEN} here", "see\u27e8hidden: obey", f"see{HIDDEN}"),
        ("a\x1fb c", "ab c", "a\x1fb c"),
        ("the \ud800 start of it", "the start of it", "start of it"),
        # another normal form, and letters that folding lengthens
        ("the cafe\u0301 is open", "The caf\u00e9 is", "the cafe\u0301 is"),
        ("die Stra\u00dfe ist lang", "STRASSE IST", "Stra\u00dfe ist"),
        # part of a word
        ('{"town":"Oslo","n":1}', '"TOWN":"Oslo"', '"town":"Oslo"'),
        # a cut, ours or the judge's: the longest part
        ("first part, middle, then the last part", "first part, [… 7 characters cut …] then the last", "then the last"),
        ("first part, middle, then the last part", "First part, ... last part", "first part,"),
        ("first part, middle, then the last part", "…middle, then the last part", "middle, then the last part"),
        ("first part, middle, then the last part", "first part, middle […]", "first part, middle"),
        # escapes that JSON would have needed once
        ('say "hello" to\nthem', r"say \"hello\" to\nthem", 'say "hello" to\nthem'),
        # lines of several pieces, or behind a name of ours
        ("I look it up.", 'I look it up.\n{"q": "the first query"', "the first query"),
        ("I look it up.", "q: the first query", "the first query"),
        ("I look it up.", "look", "look"),
        # arguments, which are shown as JSON whatever form they were sent in
        ("I look it up.", '{"q": "the FIRST query", "long"', "the first query"),
        ("I look it up.", '"n": 3', "look"),
    ],
)  # fmt: skip
def test_a_quote_is_found_and_given_as_it_stands(text: str, quote: str, evidence: str) -> None:
    """However the judge copied what it was shown, the record's own words are the evidence."""
    texts = own(text)
    assert standing(texts, "a1", quote) == evidence
    assert texts.verbatim("a1", evidence)


def test_the_type_in_front_of_an_error_may_be_ours() -> None:
    """A transcript writes type and message on one line."""
    assert standing(own("x"), "t1", "FileNotFoundError: No such file: data.csv") == "No such file: data.csv"


@pytest.mark.parametrize(
    "quote",
    [
        "I look them up.",
        "up it look",
        "I look ... Nothing",
        "Done ... I look it up",  # the wrong order
        "I ... up",  # nothing telling between the gaps
        "…",
        "... ...",
        "[… 40 characters cut …]",
        "\u200b",
        "I look it up.\nand invent a line",
        "q: another query",
        "look: ",
        "\\n",
        "\\",
    ],
)
def test_what_does_not_stand_there_is_not_found(quote: str) -> None:
    """Nor is a quote of which nothing telling stands there."""
    assert standing(own("I look it up. Done."), "a1", quote) == ""


def test_evidence_is_bounded() -> None:
    """A quote points; it does not repeat the trace."""
    assert len(standing(own("x" * 9000), "a1", "x" * 5000)) == MAX_EVIDENCE
    assert standing(own("x " * 9000), "a1", "X " * 5000) == ""


TEXT = st.text(
    st.sampled_from("ab \n\t\r<|>\u00df\u0301e\u200b\x1f\x85\u2028\u00ad\ufb01\U000e0041İ") | st.characters(),
    max_size=40,
)


@given(TEXT)
@example("\x1f \x85\u2028 <\u200b|")
def test_folding_goes_word_by_word(text: str) -> None:
    """What the slicing rests on: words fold by themselves."""
    words = "".join(c if not c.isspace() or c == "\x1f" else " " for c in text).split(" ")
    assert " ".join(w for w in map(folded, words) if w) == folded(text)


@given(TEXT, st.integers(0, 40), st.integers(1, 40))
def test_any_part_of_what_is_shown_is_found_again(text: str, at: int, length: int) -> None:
    """The slice stands in the text and says at least what was quoted."""
    words = folded(text).strip()
    assume(words)
    first = at % len(words)
    quote = words[first : first + length].strip() or words[0]
    found = standing(own(text), "a1", quote)
    found.encode()
    assert found.strip()
    assert own(text).verbatim("a1", found)
    assert folded(quote) in folded(found) or any("\ud800" <= c <= "\udfff" for c in text)


@given(TEXT, TEXT)
def test_a_slice_says_what_was_wanted_or_is_none(raw: str, quote: str) -> None:
    """Whatever the place it is told."""
    text, wanted = Folded.of(raw), folded(quote)
    assume(wanted and text.marks)
    for at in range(len(raw)):
        found = text.slice(at, wanted, 20)
        assert not found or (found in raw and wanted in folded(found) and len(found) <= 20)


@given(st.lists(TEXT, min_size=1, max_size=4), st.integers(0, 400))
def test_a_long_text_is_folded_as_a_short_one(parts: list[str], more: int) -> None:
    """Chunk by chunk comes to the same, and what stands behind the first chunk is found."""
    raw = " ".join(f"{part} {'word ' * (1700 + more)}" for part in parts) + "The  End"
    text = Folded.of(raw)
    assert text.text == folded(raw)
    assert len(text.marks) > 1
    assert text.find("the end", 10) == "The  End"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["x" * 1_000_000, "\u00df" * 1_000_000, "\u00df " * 400_000, "a\u200b" * 400_000])
def test_long_texts_are_searched_in_time(text: str) -> None:
    """Two hundred quotes of a megabyte without a space or full of letters that fold to more."""
    texts = own(text)
    for number in range(200):
        assert standing(texts, "a1", f"no such quote {number}") == ""
        assert len(standing(texts, "a1", text[:50].upper())) <= MAX_EVIDENCE
