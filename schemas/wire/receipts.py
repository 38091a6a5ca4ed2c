"""The JSON of deletions."""

from __future__ import annotations

from .base import Time, WireModel


class ReceiptJson(WireModel):
    """What a deletion removed; it names nobody. `kind`: trace, session, service or user.

    `rows` were deleted, by table; `rows_left` were found afterwards: 0 unless something failed. `dead_letters`: files
    that were removed or rewritten. Until `refused_until` spans of these traces are left out when they are sent again.
    `sent_to`: backends and webhooks that got some of them and keep it.
    """

    id: str
    at: Time
    kind: str
    traces: int
    rows: dict[str, int]
    rows_left: int
    dead_letters: int
    refused_until: Time | None
    sent_to: list[str]


class DeletedJson(WireModel):
    """How many traces were deleted, and the receipt for it."""

    deleted: int
    receipt: ReceiptJson


class ReceiptPage(WireModel):
    """The latest receipts."""

    items: list[ReceiptJson]
