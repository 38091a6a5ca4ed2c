"""Titles of findings that were stored before rules had titles."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracejury.schemas.findings import Finding

from .detectors import BUILT_IN

_OF_RULES: Final = {d.name: title for d in BUILT_IN if (title := str(getattr(d, "title", "")))}


def titled(finding: Finding) -> Finding:
    """The finding; with its rule's title where it has none and a built-in rule made it."""
    if finding.title or not (title := _OF_RULES.get(finding.judge)):
        return finding
    return replace(finding, title=title)
