"""The JSON of saved views. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Time, WireModel


class SavedViewJson(WireModel):
    """A page with its parameters, in order, under a name; `link`: both as the page's address, without host."""

    name: str
    page: str
    parameters: list[tuple[str, str]]
    link: str
    saved_at: Time


class SavedViewPage(WireModel):
    """All saved views of the project, by name; `next` is always null."""

    items: list[SavedViewJson]
    next: None
