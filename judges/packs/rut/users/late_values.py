"""INFER by code: identifiers that the user says only after asking for the call that needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejury.judges.packs.cards.oracle import Oracle, OracleStep
from tracejury.judges.packs.cards.user_turns import Carries
from tracejury.judges.packs.rut.matching import rule_of

from .leaks import is_identifier, leaves, saying


def said_late(oracle: Oracle, carries: Carries, turns: Sequence[str]) -> str:
    """What turns say too late, in one line; "" where nothing is known to be.

    Values count that name records, of calls before which nothing is read that could show them. Where it is not known
    which turn asks for which calls, nothing but that the last of several turns says them all.
    """
    if not carries:
        first = [min(said) for step in oracle.steps for value in _values(step) if (said := saying(turns, value))]
        return "the last turn alone says what the calls need" if first and min(first) == len(turns) > 1 else ""
    turn_of = {name: turn for turn, ids in enumerate(carries, 1) for name in ids}
    found = [
        f'turn {turn_of[step.id]} asks for {step.tool}, but "{value}" is said in turn {min(said)} only'
        for step in _unread(oracle)
        for value in _values(step)
        if (said := saying(turns, value)) and min(said) > turn_of[step.id]
    ]
    return "; ".join(found)


def _unread(oracle: Oracle) -> Iterator[OracleStep]:
    """The steps up to the first that reads."""
    writes = oracle.writing()
    for step in oracle.ordered:
        yield step
        if not writes(step.tool):
            return


def _values(step: OracleStep) -> list[str]:
    """The identifiers among the arguments that are compared; none where another call serves as well."""
    compared = {name: value for name, value in step.arguments.items() if rule_of(name, step.match) == "equal"}
    return [] if step.equivalent else [one for key, one in leaves(compared) if not key and is_identifier(one)]
