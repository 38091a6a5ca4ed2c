"""The JSON of the glossary, as types. Keys are only ever added."""

from __future__ import annotations

from .base import WireModel


class SectionJson(WireModel):
    """A heading and its lines."""

    title: str
    lines: list[str]


class TermJson(WireModel):
    """The explanation of a word; `see`: keys of others."""

    key: str
    kind: str
    title: str
    text: str
    sections: list[SectionJson]
    see: list[str]


class TermPage(WireModel):
    """All terms, by kind."""

    items: list[TermJson]
    next: None
