"""The folder of requests that can never be stored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from store_parts import a_span

from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.schemas.batch import Batch


def body(letter: str, size: int = 400) -> bytes:
    return letter.encode() * size


def aged(file: Path | None, seconds: int) -> Path:
    """The file, last changed so many seconds after the epoch."""
    assert file is not None
    os.utime(file, (seconds, seconds))
    return file


@pytest.mark.parametrize(
    ("signal", "encoding", "prefix", "suffix"),
    [
        ("traces", "protobuf", "traces-", ".pb"),
        ("logs", "json", "logs-", ".json"),
        ("traces", "odd", "traces-", ".bin"),
        ("../../etc/passwd", "../x", "etcpasswd-", ".bin"),
        ("", "", "body-", ".bin"),
    ],
)
def test_bodies_are_kept_as_they_came(tmp_path: Path, signal: str, encoding: str, prefix: str, suffix: str) -> None:
    """A name says what it is and can be replayed; nothing in it comes from the sender's content."""
    file = DeadLetterFolder(tmp_path / "dead", 1000).keep_body(signal, encoding, b"\x00\xff")
    assert file is not None
    assert (file.parent, file.name.startswith(prefix), file.suffix) == (tmp_path / "dead", True, suffix)
    assert file.read_bytes() == b"\x00\xff"


def test_the_same_body_takes_no_second_file(tmp_path: Path) -> None:
    """A client that sends it again and again fills nothing."""
    folder = DeadLetterFolder(tmp_path, 1000)
    assert folder.keep_body("traces", "json", body("a")) == folder.keep_body("traces", "json", body("a"))
    assert len(list(tmp_path.iterdir())) == 1


def test_the_oldest_make_room(tmp_path: Path) -> None:
    """At the bound nothing goes; one byte beyond, the oldest file does."""
    folder = DeadLetterFolder(tmp_path, 1000)
    first = aged(folder.keep_body("traces", "json", body("a")), 1)
    second = aged(folder.keep_body("traces", "json", body("b")), 2)
    third = aged(folder.keep_body("traces", "json", body("c", 200)), 3)
    assert {first, second, third} == set(tmp_path.iterdir())
    fourth = folder.keep_body("traces", "json", body("d", 1))
    assert {second, third, fourth} == set(tmp_path.iterdir())


@pytest.mark.parametrize(("size", "kept"), [(999, True), (1000, True), (1001, False)])
def test_what_alone_is_too_large_is_not_kept(tmp_path: Path, size: int, *, kept: bool) -> None:
    """It would push out everything else and still not fit."""
    folder = DeadLetterFolder(tmp_path, 1000)
    before = folder.keep_body("traces", "json", b"x")
    assert (folder.keep_body("traces", "json", body("a", size)) is not None) == kept
    assert before is not None
    assert before.exists() == (size < 1000 or not kept)


def test_batches_of_equal_content_are_one_file(tmp_path: Path) -> None:
    """The digest is of the content, not of the moment or the reason."""
    folder = DeadLetterFolder(tmp_path, 100_000)
    names = {
        folder.keep_batch(Batch([a_span(name=name)]), reason) for name, reason in (("a", "x"), ("a", "y"), ("b", "x"))
    }
    assert len(names) == len(list(tmp_path.iterdir())) == 2
