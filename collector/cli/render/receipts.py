"""Receipts of deletions as lines and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.wire.receipts import ReceiptJson

from .tables import content, moment, rows_table


def receipt_lines(receipt: ReceiptJson) -> Iterator[str]:
    """The rest of what was deleted, and what is still to be done elsewhere."""
    if receipt.rows:
        yield f"rows: {_rows(receipt)}"
    if receipt.dead_letters:
        yield f"dead-letter files removed or rewritten: {receipt.dead_letters}"
    if receipt.rows_left:
        yield f"rows that are still there: {receipt.rows_left}; run it again"
    if receipt.sent_to:
        yield f"sent before to {one_line(', '.join(receipt.sent_to), 200)}: delete it there, too"
    if receipt.traces and receipt.refused_until:
        yield f"their spans are left out until {receipt.refused_until}"
    yield f"receipt {receipt.id}"


def receipts_table(receipts: Sequence[ReceiptJson]) -> RenderableType:
    """A line a receipt."""
    return rows_table(
        receipts,
        "no receipts",
        {
            "at": lambda r: moment(r.at),
            "receipt": lambda r: content(r.id),
            "of a": lambda r: r.kind,
            "traces": lambda r: str(r.traces),
            "rows": lambda r: str(sum(r.rows.values())),
            "dead letters": lambda r: str(r.dead_letters),
            "rows left": lambda r: str(r.rows_left),
            "sent to": lambda r: content(", ".join(r.sent_to), 60),
        },
    )


def _rows(receipt: ReceiptJson) -> str:
    return ", ".join(f"{count} {table}" for table, count in receipt.rows.items())
