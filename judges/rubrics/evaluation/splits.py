"""Which sessions a set of rubrics is learned from, and on which it is tested. Drawn by a hash: no order matters."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Literal

from tracejury.judges.rubrics.learning.training import LabelledSession

Whole = Literal["situation", "service"]
Folds = list[list[LabelledSession]]


@dataclass(frozen=True, slots=True)
class Split:
    """Sessions to learn from, and others to test on."""

    name: str
    learned: tuple[LabelledSession, ...]
    tested: tuple[LabelledSession, ...]


def splits(sessions: Iterable[LabelledSession], count: int, whole: Whole | None = None) -> list[Split]:
    """Split k of `count` (at least 3) learns from folds k and k + 1 and is tested on the others.

    The folds are equal within label, satisfaction and situation, to one session. `whole`: all sessions of one value are
    in one fold, so that none that is tested was learned from. Good sessions have one situation, without which nothing
    can be learned: they are spread all the same.
    """
    folds = _folds(sessions, count, whole)
    return [
        Split(
            str(k + 1),
            tuple(chain(folds[k], folds[(k + 1) % count])),
            tuple(chain(*(folds[(k + other) % count] for other in range(2, count)))),
        )
        for k in range(count)
    ]


def _folds(sessions: Iterable[LabelledSession], count: int, whole: Whole | None) -> Folds:
    folds: Folds = [[] for _ in range(count)]
    held: defaultdict[str | None, list[LabelledSession]] = defaultdict(list)
    for one in sorted(
        sessions, key=lambda one: (one.label.good, str(one.label.satisfied), one.label.situation, _draw(one.key))
    ):
        held[_value(one, whole)].append(one)
    spread = held.pop(None, [])
    for _, group in sorted(held.items(), key=lambda one: (-len(one[1]), _draw(one[0]))):
        min(folds, key=len).extend(group)
    for at, one in enumerate(spread):
        folds[at % count].append(one)
    return folds


def _value(session: LabelledSession, whole: Whole | None) -> str | None:
    """What holds a session together with others; None: nothing."""
    if whole == "service":
        return session.key[0]
    return session.label.situation or None if whole == "situation" and not session.label.good else None


def _draw(drawn: object) -> str:
    return sha256(f"fold {json.dumps(drawn)}".encode()).hexdigest()
