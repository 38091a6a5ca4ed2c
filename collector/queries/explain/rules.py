"""Texts of detectors from data: some are written out, the forms of one kind of failure are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rule_texts(data: Mapping[str, Any]) -> Mapping[str, str]:
    """A text by the name of each rule: `rules` as they are, `forms` for each of `kinds`."""
    made = {
        form.format(kind=kind): text.format(what=what)
        for form, text in data["forms"].items()
        for kind, what in data["kinds"].items()
    }
    return {**made, **data["rules"]}
