"""Texts that others wrote as data: indented lines, which no line of ours is, between a fence."""

from __future__ import annotations

from hashlib import blake2b

from tracejury.schemas.shown import shown


def data(value: str) -> str:
    """Any text as indented lines of the record."""
    return "".join(f" {line}\n" for line in shown(value).rstrip().split("\n"))


def fence(name: str, value: str, lines: str) -> str:
    """The lines of `value`, all indented, between a fence that is named by it."""
    known = blake2b(value.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"=== {name} {known} ===\n{lines}=== end of {name} {known} ===\n"
