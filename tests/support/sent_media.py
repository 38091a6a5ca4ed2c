"""Base64 of files that are no files, as agents send them, and texts that hold it among other things."""

from __future__ import annotations

import base64
import hashlib

from hypothesis import strategies as st

HEADS = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff\xe0", "wav": b"RIFF\0\0\0\0WAVE", "pdf": b"%PDF-1.7"}
MARK = "tracejury-media:"


def encoded(kind: str = "png", size: int = 7000, number: int = 0) -> str:
    """Base64 of a file of that kind and size in bytes."""
    return base64.b64encode(HEADS.get(kind, b"") + hashlib.shake_128(bytes([number])).digest(size)).decode()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ['","', "data:image/png;base64,", "=", "==", "-", "+", "A", "tracejury-med", "tracejury-media", " "]
    ),
    st.builds(
        encoded,
        st.sampled_from([*HEADS, "unknown"]),
        st.sampled_from([3000, 3062, 3063, 3064, 3065, 3070, 6200, 7001, 7002]),
        st.integers(0, 2),
    ),
    st.integers(0, 2).map(lambda number: digest(encoded("png", 7001, number))),
    st.sampled_from("A+_-. \n").map(lambda letter: letter * 5000),
)
MARKED = st.one_of(PIECES, st.integers(0, 2).map(lambda number: MARK + digest(encoded("png", 7001, number))))


def texts(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(pieces, max_size=6).map("".join)
