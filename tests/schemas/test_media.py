"""Types and sizes of pictures by their first bytes: those of real encoders, of bombs, and of anything at all."""

from __future__ import annotations

import base64
import io
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, features

from tracejury.schemas.media import PDF, PICTURES, SOUNDS, from_base64, media_type, picture_size

FORMATS = ["PNG", "JPEG", "GIF", "WEBP", *(["AVIF"] if features.check("avif") else [])]


def picture(form: str, width: int = 37, height: int = 19, **how: object) -> bytes:
    """A picture as Pillow writes it."""
    file = io.BytesIO()
    Image.new("RGBA" if how.get("lossless") else "RGB", (width, height)).save(file, form, **how)
    return file.getvalue()


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("size", [(37, 19), (1, 1), (300, 2)])
def test_the_size_is_the_encoder_s(form: str, size: tuple[int, int]) -> None:
    """Of each kind that is shown."""
    data = picture(form, *size)
    assert media_type(data) == f"image/{form.lower()}"
    assert picture_size(data) == size


@pytest.mark.parametrize(
    ("form", "how"),
    [
        ("WEBP", {"lossless": True}), ("WEBP", {"exif": b"Exif\0\0II*\0"}), ("JPEG", {"progressive": True}),
        ("JPEG", {"comment": b"x" * 60_000}), ("GIF", {"comment": b"y" * 700}),
    ],
)  # fmt: skip
def test_other_forms_of_a_kind_say_it_elsewhere(form: str, how: dict[str, Any]) -> None:
    """Lossless, with metadata, progressive, behind a long comment."""
    assert picture_size(picture(form, **how)) == (37, 19)


def test_no_size_of_an_avif_is_overlooked() -> None:
    """A small one may stand first, and the true one behind any padding; with very many none is believed."""
    avif = b"\0\0\0\x20ftypavif" + b"\0" * 8
    small, large = (b"ispe" + struct.pack(">III", 0, side, side) for side in (9, 60_000))
    assert picture_size(avif + small) == (9, 9)
    assert picture_size(avif + small + b"\0" * 100_000 + large) == (60_000, 60_000)
    assert picture_size(avif + small * 5000 + large) is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"RIFF\0\0\0\0WAVEfmt ", SOUNDS[0]), (b"ID3\4", SOUNDS[1]), (b"\xff\xfb\x90\x64", SOUNDS[1]),
        (b"OggS\0", SOUNDS[2]), (b"fLaC\0", SOUNDS[3]), (b"%PDF-1.7", PDF),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", ""), (b"<html>", ""), (b"", ""), (b"MZ", ""), (b"RIFF", ""),
        (b"\0\0\0\x20ftypisom", ""),
    ],
)  # fmt: skip
def test_what_is_no_picture(data: bytes, kind: str) -> None:
    """Sound and PDF are known; markup, programs and videos are nothing that is shown."""
    assert media_type(data) == kind
    assert picture_size(data) is None


def test_a_bomb_says_how_large_it_is() -> None:
    """A few bytes of header promise gigapixels, be it the screen of a GIF or its first frame."""
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 100_000, 99_999)
    assert picture_size(png) == (100_000, 99_999)
    gif = b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0, 0, 0) + b"!\xf9\x04\0\0\0\0\0" + b","
    assert picture_size(gif + struct.pack("<HHHHB", 0, 0, 65_535, 65_535, 0)) == (65_535, 65_535)


@given(st.sampled_from(FORMATS).map(picture), st.data())
def test_cut_and_changed_pictures_raise_nothing(data: bytes, draw: st.DataObject) -> None:
    """Wherever they end, and whatever byte is another one."""
    at = draw.draw(st.integers(0, len(data)))
    changed = data[:at] + draw.draw(st.binary(max_size=4)) + data[at + draw.draw(st.integers(0, 4)) :]
    for one in (data[:at], changed):
        assert media_type(one) in ("", PDF, *PICTURES, *SOUNDS)
        size = picture_size(one)
        assert size is None or min(size) >= 0


@given(st.binary(min_size=1, max_size=60), st.booleans(), st.booleans(), st.booleans())
def test_base64_is_read_in_all_its_forms(data: bytes, url: bool, bare: bool, lines: bool) -> None:  # noqa: FBT001
    """Of URLs, without padding, in lines."""
    text = (base64.urlsafe_b64encode if url else base64.b64encode)(data).decode()
    text = text.rstrip("=") if bare else text
    assert from_base64("\n".join([text[:7], text[7:]]) if lines and len(text) > 7 else text) == data


@pytest.mark.parametrize("text", ["", "two words", "a=b", "é", "A", "====", "<svg>"])
def test_what_is_no_base64(text: str) -> None:
    """Words with spaces, markup, a length that no bytes have."""
    assert from_base64(text) is None
