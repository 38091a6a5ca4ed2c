"""Scores of judges as a filter names them: `plan-adherence<=1, GF>0`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Final

from .errors import ConfigError
from .taxonomy import DIMENSION_NAMES

_SCORE: Final = re.compile(r"\s*([\w.-]{1,60})\s*(<=|>=|<|>|=)\s*([0-3])\s*")
_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
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
