"""How a secret may hide, or how a text may wear redaction down."""

from __future__ import annotations

import base64
import itertools
import json
import time
from collections.abc import Iterator

import pytest
from redacting import KEY, own, ready, redacted

from tracejury.processors.redact.patterns import own_pattern
from tracejury.processors.redact.rules import FAILED_MARK, Action
from tracejury.processors.redact.texts import TextRedactor

MAIL = "ada@example.org"
HIDDEN = {
    "zero-width space": ("4111\u200b1111\u200b1111\u200b1111", "[redacted:card]"),
    "zero-width joiner in an address": ("mail a\u200dda@exam\ufeffple.org now", "mail [redacted:email] now"),
    "soft hyphen": ("ada@exam\u00adple.org", "[redacted:email]"),
    "full-width digits": ("\uff14" + "\uff11" * 15, "[redacted:card]"),
    "Arabic digits": ("٤١١١١١١١١١١١١١١١", "[redacted:card]"),
    "full-width sign": ("ada\uff20example\uff0eorg", "[redacted:email]"),
    "no-break spaces": ("4111\u00a01111\u00a01111\u00a01111", "[redacted:card]"),
    "no-break hyphens": ("4111\u20111111\u20111111\u20111111", "[redacted:card]"),
    "invisible before a longer number": ("4111111111111111\u200b5", "[redacted:card]\u200b5"),
    "escape in a text that is no JSON": ("{'a': 'x\\nsk-T3stT3stT3stT3stT3st'}", "{'a': 'x\\n[redacted:api-keys]'}"),
    "escaped letter in a cut JSON": ('{"a": "ada\\u0040example.org', '{"a": "[redacted:email]'),
    "escaped letter in JSON": ('{"a": "ada\\u0040example.org"}', '{"a": "[redacted:email]"}'),
    "JSON string": ('"ada\\u0040example.org"', '"[redacted:email]"'),
    "key of JSON": ('{"ada@example.org": 1}', '{"[redacted:email]": 1}'),
    "integer of JSON": ('{"n": [4111111111111111, 5]}', '{"n": ["[redacted:card]", 5]}'),
    "JSON that few read": ('{"a": NaN, "b": "ada\\u0040example.org"}', '{"a": NaN, "b": "[redacted:email]"}'),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_seen_through(how: str) -> None:
    """The secret goes whatever it is written in; characters around it stay as they came."""
    text, expected = HIDDEN[how]
    assert redacted(text) == expected


@pytest.mark.parametrize("levels", range(1, 8))
def test_json_in_json(levels: int) -> None:
    """Each level escapes the one below; all of them stay valid."""
    text = nested("ada@example.org", levels)
    found = redacted(text.replace("@", "\\u0040", 1) if levels == 1 else text)
    assert found == nested("[redacted:email]", levels)


def nested(text: str, levels: int) -> str:
    for _ in range(levels):
        text = json.dumps({"role": "user", "content": text})
    return text


@pytest.mark.parametrize(
    "text",
    [base64.b64encode(MAIL.encode()).decode(), MAIL[:6], MAIL[6:], "ada at example dot org"],
    ids=["base64", "first half", "second half", "spelled out"],
)
def test_not_seen(text: str) -> None:
    """As docs/redaction.md says."""
    assert redacted(text) == text


def test_a_megabyte_full_of_matches_ends_in_time() -> None:
    """Either all is redacted or the value is dropped; nothing is left and nothing waits."""
    started = time.monotonic()
    for text in (f"{MAIL} " * 65_000, "4111 " * 200_000, "a" * 1_000_000, "+1" * 500_000, "@a." * 350_000):
        assert MAIL not in (redacted(text) or "")
    assert time.monotonic() - started < 60


def test_a_value_that_takes_too_long_is_dropped() -> None:
    """The clock is looked at between matches."""
    ticks: Iterator[float] = itertools.count(0.0, 0.3)
    found: list[str] = []
    slow = TextRedactor(ready(), KEY, clock=lambda: next(ticks))
    assert slow.value("k", f"{MAIL} " * 100, found) == FAILED_MARK
    assert found == ["failed"]


def test_bad_utf8_beside_a_secret_is_dropped() -> None:
    """What cannot be searched is not stored; what holds nothing stays."""
    assert redacted(f"\ud800 {MAIL}") == FAILED_MARK
    assert redacted("\ud800 nothing") == "\ud800 nothing"
    assert redacted('["\\ud800 nothing", "ada@example.org"]') == '["\\ud800 nothing", "[redacted:email]"]'


@pytest.mark.parametrize("pattern", [r"(a+)\1", r"(?=a)b", r"(?<!a)b", r"(?:a{1000}){1000}", "(", r"a{1001}", "x*"])
def test_patterns_that_are_refused(pattern: str) -> None:
    """What needs back-tracking, takes too much memory, or matches everything."""
    with pytest.raises(ValueError, match="pattern"):
        own_pattern(pattern)


def test_a_pattern_that_explodes_elsewhere_is_linear() -> None:
    """`(a+)+$` is exponential for engines that back-track."""
    text = "a" * 100_000 + "b"
    assert redacted(text, [own("bomb", "(a+)+$")]) == text


def test_a_mark_cannot_be_used_to_hide() -> None:
    """A mark that a client wrote is left alone, what stands beside it is not."""
    assert redacted(f"[redacted:email]{MAIL}") == "[redacted:email][redacted:email]"
    assert redacted(f"[redacted:{MAIL}]") == "[redacted:[redacted:email]]"
    hashed = redacted(f"[email:{MAIL}]", ready("email", action=Action.HASH))
    assert hashed
    assert MAIL not in hashed


def test_anchors_see_each_text_alone() -> None:
    """The joint pass over many texts must not keep `^` and `$` from matching one of them."""
    rules = [own("code", r"^\d{6}$")]
    assert redacted('{"a": ["123456", "1234567"]}', rules) == '{"a": ["[redacted:code]", "1234567"]}'
    assert "123456" in TextRedactor(rules).candidates(["x", "123456"])
