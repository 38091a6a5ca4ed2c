"""The first pass over texts that are not read as JSON: it may see too much, never too little."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redacting import KEY, SECRETS, own, ready

from tracejury.processors.redact.texts import TextRedactor

RULES = [*ready(), own("pass", r"(?i)password\s*[:=]\s*(\S+)"), own("ticket", r"\bT-\d{3}/x\b")]
REDACTOR = TextRedactor(RULES, KEY)
HIDING: dict[str, Callable[[str], str]] = {
    "no-break space": lambda secret: secret.replace(" ", "\u00a0"),
    "no-break hyphen": lambda secret: secret.replace("-", "\u2011"),
    "zero-width": "\u200b".join,
    "variation selectors": "\ufe0f".join,
    "full width": lambda secret: "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in secret),
    "Arabic digits": lambda secret: "".join(chr(ord(c) + 0x630) if c.isdigit() else c for c in secret),
    "mathematical digits": lambda secret: "".join(chr(ord(c) + 0x1D79E) if c.isdigit() else c for c in secret),
    "as it is": lambda secret: secret,
}
WRAPPING: dict[str, Callable[[str], str]] = {
    "text": lambda text: text,
    "JSON": lambda text: json.dumps({"a": [text]}, ensure_ascii=False),
    "JSON in ASCII": lambda text: json.dumps({"a": [text]}),
    "JSON in JSON": lambda text: json.dumps({"a": json.dumps([text])}),
    "escaped slashes": lambda text: json.dumps([text]).replace("/", "\\/"),
    "all escaped": lambda text: '"' + "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in text) + '"',
    "Python": lambda text: repr({"a": text}),
    "cut": lambda text: json.dumps({"a": [text + " and more"]})[:-4],
}
PAIRS = [(name, secret) for name, secret in SECRETS.items()] + [("pass", "password:\thunter2"), ("ticket", "T-123/x")]


@pytest.mark.parametrize("wrapping", WRAPPING)
@pytest.mark.parametrize("hiding", HIDING)
def test_the_first_pass_sees_what_the_second_would_take(hiding: str, wrapping: str) -> None:
    """Every secret, hidden and wrapped in every way, after a line's end."""
    seen = 0
    for name, secret in PAIRS:
        text = WRAPPING[wrapping](f"so\n{HIDING[hiding](secret)}")
        found: list[str] = []
        REDACTOR.value("k", text, found)
        if found:
            seen += 1
            assert text in REDACTOR.candidates([text]), (name, text)
    assert seen >= (6 if hiding == "as it is" else 1)


@given(st.sampled_from(PAIRS), st.sampled_from(sorted(WRAPPING)), st.text(max_size=8), st.text(max_size=8))
def test_whatever_stands_beside_it(pair: tuple[str, str], wrapping: str, before: str, after: str) -> None:
    """Also letters, digits and quotes that change what matches."""
    text = WRAPPING[wrapping](f"{before}{pair[1]}{after}")
    found: list[str] = []
    REDACTOR.value("k", text, found)
    assert not found or text in REDACTOR.candidates([text])


def test_many_numbers_that_are_no_cards_hide_none() -> None:
    """Check digits are looked at in the first pass only while it stays quick."""
    wrong = "4111 1111 1111 1112, "
    assert not REDACTOR.candidates([wrong * 10])
    assert REDACTOR.candidates([wrong * 10 + SECRETS["card"]])
    assert REDACTOR.candidates([wrong * 2_000 + SECRETS["card"]])


@given(st.lists(st.sampled_from([*SECRETS.values(), "DE89", "password", ":", "nothing", "", "é"]), max_size=6))
def test_texts_that_are_searched_together_have_the_places_of_each_alone(texts: list[str]) -> None:
    """In whatever order they come: also where a pattern matches across two of them."""
    together = REDACTOR.candidates(texts)
    for text in texts:
        alone = REDACTOR.candidates([text])
        assert together.get(text) in (alone.get(text), None)
        assert text in together or text not in alone
