"""The JSON of a backup."""

from __future__ import annotations

from .base import WireModel


class BackupJson(WireModel):
    """A whole backup.

    `folder` is on the collector's machine; `made_at` is the moment that it shows; `seconds` is what it took, `paused`
    for how much of that writing waited.
    """

    name: str
    folder: str
    made_at: str
    bytes: int
    seconds: float
    paused: float
