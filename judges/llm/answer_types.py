"""An answer of judges, read: scores, claims, decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Severity


class AnswerError(TracejuryError):
    """A reply of which nothing can be used; its text is one line that tells the model what to mend."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that an answer may use. `judges`: code (a dimension's letters, else the judge's name) to name."""

    judges: Mapping[str, str]
    categories: tuple[str, ...] = TRAIL_CATEGORIES


@dataclass(frozen=True, slots=True)
class Score:
    """0 to 3 with reasons; None: not applicable, for those reasons."""

    score: int | None
    reasons: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding as a judge words it, before the evidence gate.

    `labels`: the step where the error was made, all of them where a range was named; `codes`: of the judges concerned,
    the first primary. `shown_at`: the steps where it showed, `also_at` those that relay it. `material`: whether it
    mattered. `title`: the mistake in a few words, "" where the answer has none. `cut`: whether it rests on text that
    the judge was not shown.
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
    title: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """A request to see more of the record: the step `label` ("" for any), around the words `find` ("" for all)."""

    label: str
    find: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply, read.

    `scores` by judge's name; `unscored`: asked judges without a usable score, with one line why. `stands`: number of a
    provisional finding to whether it is confirmed. `unsound`: findings that could not be read, `problem` a line on the
    first of them. `looks`: what the judges ask to see before they answer again.
    """

    scores: Mapping[str, Score] = field(default_factory=dict)
    unscored: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    stands: Mapping[int, bool] = field(default_factory=dict)
    summary: str = ""
    unsound: int = 0
    problem: str = ""
    looks: tuple[Look, ...] = ()
