"""Errors of planted types: each said in three wordings, with values of its own."""

from __future__ import annotations

from random import Random
from typing import Final

from tracejury.judges.clusters.error_group import ClusteredError, error_text

_DEEDS: Final = (
    ("the date of departure was left out", "no departure date reached the call", "departure day missing from request"),
    ("currency given as a symbol, not as code", "money symbol instead of ISO code", "price unit is no currency code"),
    ("asked for refund without an order number", "refund requested though order id absent", "no order for the refund"),
    ("repeats the same search again and again", "identical query sent once more", "search duplicated without need"),
    ("claims success although booking failed", "says booked while reservation errored", "reports booking that broke"),
)
_TOOLS: Final = ("search_flights", "pay", "refund_order", "lookup_user", "")


def planted(count: int, seed: int = 0) -> tuple[list[ClusteredError], list[str]]:
    """So many errors of 25 types (five deeds, with words of their own at each of five tools), and their types."""
    random = Random(seed)  # noqa: S311  no secret
    errors, types = [], []
    for _ in range(count):
        tool, deed = random.choice(_TOOLS), random.randrange(len(_DEEDS))
        wording = _DEEDS[deed][random.randrange(3)]
        value = f" in {random.randrange(10**6)} for customer{random.randrange(10**6)}"
        text = error_text("Tool Misuse" if tool else "Goal Deviation", f"{wording}{value}, step {random.randrange(40)}")
        errors.append(ClusteredError(text, f"{random.getrandbits(128):032x}", "trail", text.partition(":")[0], tool))
        types.append(f"{tool} {deed}")
    return errors, types


def deed_of(text: str) -> str:
    """The deed that a text or label of one tells, as a scripted model names it."""
    return f"deed {next(at for at, wordings in enumerate(_DEEDS) if any(one in text for one in wordings))}"
