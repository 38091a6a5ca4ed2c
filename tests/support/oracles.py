"""Oracles and calls written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracejury.judges.packs.cards.oracle import Oracle
from tracejury.judges.packs.emitted_states import UNOBSERVED, States
from tracejury.judges.packs.rut.calls import OracleCall
from tracejury.judges.packs.rut.oracle_case import OracleCase


def call(tool: str, at: int = 0, *, ok: bool = True, exchange: int = 0, **arguments: Any) -> OracleCall:
    """A call that starts at `at`; its quote is its tool's name."""
    return OracleCall(tool, arguments, at, ok=ok, exchange=exchange, trace_id="t", span_id=f"s{at}")


def case(
    oracle: Mapping[str, Any],
    *calls: OracleCall,
    answered: Sequence[bool] = (True,),
    states: States = UNOBSERVED,
    service: Sequence[str] = (),
) -> OracleCase:
    """A session with these calls; those that all start at 0 follow one another."""
    if not any(one.start for one in calls):
        calls = tuple(replace(c, start=at, span_id=f"s{at}") for at, c in enumerate(calls, 1))
    card = Oracle.model_validate(oracle)
    return OracleCase(card, card.writing(service), calls, tuple(answered), states)
