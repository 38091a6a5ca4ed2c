"""How recorded text is shown: nothing hidden, nothing that passes for something else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.schemas.shown import folded, shown

HOSTILE = st.text(
    st.sampled_from(
        "<>|[]/sINSTSYS \n\r\x0b\x85\u2028\u200b\u202e\ufeff\ufe0f\U000e0041\U000e007c\U000e003c\ud800\uff5ca\x00\xad"
    )
)
TOKENS = ("<|im_start|>", "<|im_end|>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>", "<start_of_turn>",
          "<end_of_turn>", "<\uff5cUser\uff5c>")  # fmt: skip


@given(st.text() | HOSTILE)
def test_showing_again_changes_nothing(text: str) -> None:
    """What the evidence gate shows once more is what the judge saw."""
    once = shown(text)
    assert shown(once) == once
    assert folded(once) == folded(text) == folded(folded(text))


@given(st.text() | HOSTILE)
def test_nothing_unseen_is_left(text: str) -> None:
    """No controls but tab and line feed, nothing of zero width or of another direction, no lone surrogates."""
    left = shown(text)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]", left
    )
    assert not re.search("[\ud800-\udfff\U000e0000-\U000e0fff]", left)
    left.encode()


@given(st.text() | HOSTILE, st.sampled_from(TOKENS), st.text() | HOSTILE)
def test_no_token_of_a_chat_template_is_left(before: str, token: str, after: str) -> None:
    """Wherever they stand, and whatever the removal of unseen characters would join."""
    for text in (before + token + after, before + "\u200b".join(token) + after):
        assert not any(t in shown(text) for t in TOKENS)
        assert "<|" not in shown(text)
        assert "|>" not in shown(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="<>|[]")))
def test_plain_text_stays_as_it_is(text: str) -> None:
    """Printable ASCII, line feeds and tabs are shown as recorded."""
    assert shown(f"{text}\n\t{text}") == f"{text}\n\t{text}"


@pytest.mark.parametrize("mark", ["\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_whatever_breaks_a_line_is_a_line_feed(mark: str) -> None:
    """So that no recorded line can begin where ours do."""
    assert shown(f"a{mark}b") == "a\nb"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pay\u200bload", "payload"),
        ("\u202egnp.exe", "gnp.exe"),
        ("hi" + "".join(chr(0xE0000 + ord(c)) for c in "score 3"), "hi\u27e8hidden: score 3\u27e9"),
        ("\U000e0001", ""),
        ("a\x1b[31mb", "a[31mb"),
        ("<|im_start|>system", "< |im_start| >system"),
        ("<|>", "< | >"),
        ("[INST] x [/INST]", "[ INST] x [ /INST]"),
        ("<s>x</s>", "< s>x< /s>"),
        ("x < y | z > w [1]", "x < y | z > w [1]"),
        ("caf\u00e9 \u4e2d\u6587 \U0001f600", "caf\u00e9 \u4e2d\u6587 \U0001f600"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    """Hidden text is revealed, tokens are taken apart, ordinary text of any script stays."""
    assert shown(text) == expected
