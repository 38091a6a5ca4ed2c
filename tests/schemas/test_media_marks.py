"""Base64 in texts for judges: a mark of type, size and hash; every other text stays as it is."""

from __future__ import annotations

import base64
import hashlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.schemas.shown import shown
from tracejury.schemas.text.media_marks import without_base64

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(3000)  # noqa: S311  no secret
MARK = f"[image/png, 3.0 kB, sha256 {hashlib.sha256(PNG).hexdigest()[:12]}]"
ENCODED = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    "text",
    [
        "a chart: {}.", "![x]({})", '{{"image_url": {{"url": "{}"}}}}', "{}", "one\n{}\ntwo {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoded", [f"data:image/jpeg;base64,{ENCODED}", f"data:;charset=x;base64,{ENCODED}", ENCODED])
def test_a_file_is_told_in_words(text: str, encoded: str) -> None:
    """With the type that its bytes have, whatever is stated; what stands around it stays."""
    times = text.count("{}")
    assert without_base64(text.format(*[encoded] * times)) == text.format(*[MARK] * times)
    assert shown(text.format(*[encoded] * times)) == text.format(*[MARK] * times)


@pytest.mark.parametrize(
    "unit", ["data:a/" + "a" * 80, "data:a/", "data:;", "data:a/a;" + ";" * 20, "data:a/a;x=" + " " * 90]
)
def test_beginnings_of_urls_take_no_time(unit: str) -> None:
    """However many stand before what could end them: none does."""
    text = unit * (8_000_000 // len(unit)) + "\n;base64,"
    assert without_base64(text) == text


def test_what_is_no_picture_has_its_stated_type() -> None:
    """A sender's word for it, where there is one."""
    data = random.Random(2).randbytes(2_500_000)  # noqa: S311  no secret
    encoded = base64.b64encode(data).decode()
    told = f"2.5 MB, sha256 {hashlib.sha256(data).hexdigest()[:12]}]"
    assert without_base64(f"data:application/zip;base64,{encoded}") == f"[application/zip, {told}"
    assert without_base64(json.dumps({"data": encoded})) == json.dumps({"data": f"[base64, {told}"})


def test_a_part_of_it_is_no_text_either() -> None:
    """A limit of an SDK or of ours has cut it."""
    for length in range(2000, 2008):
        told = without_base64(f"data:image/png;base64,{ENCODED[:length]}")
        assert told.startswith("[image/png, 1.5 kB, sha256 ")
        assert len(told) < 60


@pytest.mark.parametrize(
    "text",
    [
        "-" * 5000, "=" * 5000, "a" * 5000, "0123456789abcdef" * 400, "GATTACA" * 500, "word " * 1000,
        "https://example.org/" + "path/" * 100, "data:image/png;base64,", "data:image/png;base64,AAAA", "数" * 3000,
        "\n".join("x" * 999 for _ in range(4)), "|---" * 1000,
    ],
)  # fmt: skip
def test_other_texts_stay(text: str) -> None:
    """Rules of tables, hexadecimal digits, sequences, links, words of any script."""
    assert without_base64(text) is text or without_base64(text) == text


@given(st.text(max_size=300), st.binary(min_size=900, max_size=2000))
def test_it_is_stable(text: str, data: bytes) -> None:
    """What is marked is not marked again: quotes are found under the same function."""
    for one in (
        text,
        f"{text}data:image/gif;base64,{base64.b64encode(data).decode()}",
        base64.b64encode(data).decode(),
    ):
        once = without_base64(one)
        assert without_base64(once) == once
