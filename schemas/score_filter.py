"""Scores as a filter names them: of judges `plan-adherence<=1, GF>0`, of others `thumbs>=1`, `correctness=wrong`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final

from .errors import ConfigError
from .taxonomy import DIMENSION_NAMES
from .text.scores import finite_number

_SCORE: Final = re.compile(r"\s*([\w.-]{1,60})\s*(<=|>=|<|>|=)\s*([0-3])\s*")
_ASKED: Final = r"\s*(<=|>=|<|>|=)\s*(.{1,1000}?)\s*"
_GIVEN: Final = re.compile(rf"\s*([^<>=]{{1,200}}?){_ASKED}", re.DOTALL)
_GOOD: Final = re.compile(_ASKED, re.DOTALL)
_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq,
}  # fmt: skip


def scores(name: str, given: str) -> tuple[str, ...]:
    """The scores that a text such as "plan-adherence<=1, GF>0" allows, each as judge, space, score; () for none.

    A dimension stands for its judge. All must hold of one agent run.

    Raises:
        ConfigError: it is no such text, or no score is all that it asks of a judge.
    """
    allowed: dict[str, set[int]] = {}
    for text in given.split(",") if given.strip() else ():
        if not (found := _SCORE.fullmatch(text)):
            raise ConfigError(f"{name}: {text[:60]!r} is no JUDGE<=SCORE: a judge or dimension, <= >= < > or =, 0 to 3")
        judge, comparison, score = found.groups()
        judge = DIMENSION_NAMES.get(judge.upper(), judge).replace(" ", "-")
        within = {one for one in range(4) if _COMPARISONS[comparison](one, int(score))}
        allowed[judge] = allowed.get(judge, within) & within
        if not allowed[judge]:
            raise ConfigError(f"{name}: no score from 0 to 3 is all that is asked of {judge}")
    return tuple(f"{judge} {score}" for judge, within in allowed.items() for score in sorted(within))


def given_score(name: str, given: str) -> tuple[str, ...]:
    """A comparison with a score of others, such as "thumbs>=1": its name, the comparison and the value; () for none.

    Only `=` compares with a label.

    Raises:
        ConfigError: it is no such text.
    """
    if not given.strip():
        return ()
    if not (found := _GIVEN.fullmatch(given)):
        raise ConfigError(f"{name}: {given[:60]!r} is no NAME>=VALUE: a name without < > =, then <= >= < > or =")
    _check(name, found[2], found[3])
    return found.groups()


def _check(name: str, comparison: str, asked: str) -> None:
    if comparison != "=" and finite_number(asked) is None:
        raise ConfigError(f"{name}: {asked[:40]!r} is no number; a label is asked for by =")


def meets(comparison: str, value: float | None, label: str) -> bool:
    """Whether a score of others is as a text such as ">=1" or "=up" asks. Raises ConfigError if it asks nothing."""
    if not (found := _GOOD.fullmatch(comparison)):
        raise ConfigError(f"good: {comparison[:60]!r} is no comparison such as >=1 or =up")
    operator_name, asked = found.groups()
    _check("good", operator_name, asked)
    if operator_name == "=" and label == asked:
        return True
    number = finite_number(asked)
    return value is not None and number is not None and _COMPARISONS[operator_name](value, number)
