"""The JSON of the glossary, as types. Keys are only ever added."""

from __future__ import annotations

# pydantic, which writes the OpenAPI document from these, asks for this TypedDict before Python 3.12.
from typing_extensions import TypedDict

from ..queries.glossary import Term


class SectionJson(TypedDict):
    """A heading and its lines."""

    title: str
    lines: list[str]


class TermJson(TypedDict):
    """What there is to say of a word; `see`: keys of others."""

    key: str
    kind: str
    title: str
    text: str
    sections: list[SectionJson]
    see: list[str]


class TermPage(TypedDict):
    """All terms, by kind."""

    items: list[TermJson]
    next: None


def present_term(term: Term) -> TermJson:
    """The term as JSON."""
    return {
        "key": term.key,
        "kind": term.kind,
        "title": term.title,
        "text": term.text,
        "sections": [{"title": section.title, "lines": list(section.lines)} for section in term.sections],
        "see": list(term.see),
    }
