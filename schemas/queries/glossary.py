"""Terms of the glossary."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TermSection:
    """A heading and its lines."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """An entry of the glossary. `key`: its name in addresses; `text`: in a sentence or two; `see`: other keys."""

    key: str
    kind: str
    title: str
    text: str
    sections: tuple[TermSection, ...] = ()
    see: tuple[str, ...] = ()
