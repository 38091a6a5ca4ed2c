"""An answer of judges, read: scores, claims, decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...schemas.errors import TracejuryError
from ...schemas.taxonomy import TRAIL_CATEGORIES, Dimension, Severity


class AnswerError(TracejuryError):
    """A reply of which nothing can be used; its text is one line that tells the model what to mend."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that an answer may use. `codes`: dimensions, and judges that have none."""

    categories: tuple[str, ...] = TRAIL_CATEGORIES
    codes: tuple[str, ...] = tuple(d.value for d in Dimension)


@dataclass(frozen=True, slots=True)
class Score:
    """0 to 3 with reasons; None: not applicable, for those reasons."""

    score: int | None
    reasons: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding as a judge words it, before the evidence gate.

    `labels`: the step where the error was made, all of them where a range was named; `codes`: of the `Vocabulary`, the
    first primary. `shown_at`: the steps where it showed, `also_at` those that relay it. `material`: whether it
    changed, or could have changed, the outcome.
    """

    labels: tuple[str, ...]
    quote: str
    codes: tuple[str, ...]
    category: str
    severity: Severity
    why: str
    shown_at: tuple[str, ...] = ()
    also_at: tuple[str, ...] = ()
    material: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply, read.

    `scores` by judge; `unscored`: asked judges without a usable score, with one line why. `confirmed` and `retracted`
    (with reasons) hold numbers of provisional findings. `unsound`: findings that could not be read. `problem`: what a
    repaired reply should mend, "" where nothing is missing.
    """

    scores: Mapping[str, Score] = field(default_factory=dict)
    unscored: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    confirmed: tuple[int, ...] = ()
    retracted: Mapping[int, str] = field(default_factory=dict)
    summary: str = ""
    unsound: int = 0
    problem: str = ""
