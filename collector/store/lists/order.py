"""Orders of a list: each row has one whole number to be sorted by, then its start and id, so that a cursor is exact."""

from __future__ import annotations

from typing import Any, Final

from tracejury.schemas.queries.listing import Sort
from tracejury.schemas.queries.reader import Position

from .conditions import DURATION
from .errors import worst
from .latest import TRACES

MOST: Final = 2**64 - 1

# A float that is not negative orders as its bits do. What is not known gets `missing`, which comes last.
_KNOWN: Final = "ifNull(toUInt64({}) + 1, {{missing:UInt64}})"
_TOKENS: Final = (
    "if(isNull(InputTokens) AND isNull(OutputTokens), NULL, ifNull(InputTokens, 0) + ifNull(OutputTokens, 0))"
)

_ERRORS: Final = "toUInt64(High + Medium + Low)"

OF_TRACES: Final = {
    Sort.RECEIVED: TRACES.seen,
    Sort.START: "StartNanos",
    Sort.DURATION: f"toUInt64({DURATION})",
    Sort.COST: _KNOWN.format("reinterpretAsUInt64(Cost)"),
    Sort.TOKENS: _KNOWN.format(_TOKENS),
    Sort.SEVERITY: worst("High", "Medium", "Low"),
    Sort.ERRORS: _ERRORS,
    Sort.FINDINGS: _ERRORS,
}
BY_ERRORS: Final = frozenset({Sort.SEVERITY, Sort.ERRORS, Sort.FINDINGS})


def missing(*, ascending: bool) -> int:
    """The number of what is not known."""
    return MOST if ascending else 0


def order(*ids: str, ascending: bool) -> str:
    """The ORDER BY of a SELECT that names its number `Value`."""
    way = "" if ascending else " DESC"
    return ", ".join(f"{name}{way}" for name in ("Value", *ids))


def order_id(start: str, key: str) -> str:
    """The text of `TraceRow.order_id`, of expressions."""
    return f"concat(leftPad(toString({start}), 20, '0'), {key})"


def after(position: Position | None, key: str, value: str = "Value", *, ascending: bool) -> tuple[str, dict[str, Any]]:
    """The condition that a row follows the position. `key`: its `order_id`; `value`: its number."""
    if position is None:
        return "1", {}
    sign = ">" if ascending else "<"
    return (
        f"({value}, {key}) {sign} ({{at:UInt64}}, {{id:String}})",
        {"at": min(max(position.time, 0), MOST), "id": position.id},
    )
