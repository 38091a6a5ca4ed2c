"""What came of a case: how often the step was wrong before and is now, and how sure the difference is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, model_validator

from tracejury.judges.llm.data_files import model_of, read_data
from tracejury.judges.measures.rates import hybrid
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.rates import Estimate
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.terminal import one_line

from .case import MOST_BYTES

ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Tally:
    """Answers of one step: `wrong` of `of` that could be judged; `other`: of these, with another error.

    `unjudged`: that nobody could judge, `failed`: calls that brought none. `problems`: why, each once.
    """

    wrong: int = 0
    of: int = 0
    other: int = 0
    unjudged: int = 0
    failed: int = 0
    problems: tuple[str, ...] = ()

    @property
    def share(self) -> Estimate | None:
        """Share of wrong answers with Wilson's interval; None without any that was judged."""
        interval = wilson(self.wrong, self.of)
        return Estimate(self.wrong / self.of, *interval) if interval else None

    def __add__(self, more: Tally) -> Tally:
        """Both together."""
        return Tally(
            self.wrong + more.wrong,
            self.of + more.of,
            self.other + more.other,
            self.unjudged + more.unjudged,
            self.failed + more.failed,
            tuple(dict.fromkeys((*self.problems, *more.problems))),
        )


def difference(before: Tally, now: Tally) -> Estimate | None:
    """Share before less share now, by Newcombe's hybrid score interval (see `hybrid`); None where either is none.

    Of several cases together, each asked equally often, it is on the safe side: their own shares vary less than the
    answers of one step with the mean share would.
    """
    first, second = before.share, now.share
    return hybrid(second, first) if first is not None and second is not None else None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case, or all of them together. `before`: None where nothing is compared."""

    id: str
    title: str
    now: Tally
    before: Tally | None = None

    @property
    def told(self) -> str:
        """`wrong in 7 of 10 before, 1 of 10 now, difference .60 (.18 to .80)`."""
        if not self.now.of:
            return "no answer was judged"
        if self.before is None or (found := difference(self.before, self.now)) is None:
            low_high = self.now.share
            return f"wrong in {self.now.wrong} of {self.now.of} now{_range(low_high)}"
        counts = f"wrong in {self.before.wrong} of {self.before.of} before, {self.now.wrong} of {self.now.of} now"
        return f"{counts}, difference {_short(found.value)}{_range(found)}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is to be known of the answers now, a line each, safe to print."""
        now = self.now
        counts = ((now.failed, "call", "brought no answer"), (now.unjudged, "answer", "could not be judged"))
        lines = [f"{counted(n, noun)} {what}" for n, noun, what in counts if n]
        lines += [f"{counted(now.other, 'answer')} with another error"] if now.other else []
        return (*lines, *(one_line(problem, 300) for problem in now.problems))

    def to_json(self) -> dict[str, Any]:
        """For programs, and for `--before`."""
        found = difference(self.before, self.now) if self.before is not None else None
        sides = {"before": self.before, "now": self.now}
        return {
            "id": self.id,
            "title": self.title,
            **{name: None if one is None else _json(one) for name, one in sides.items()},
            "difference": found and asdict(found),
        }


@dataclass(frozen=True, slots=True)
class RegressionResults:
    """All cases of a folder."""

    cases: Sequence[CaseResult] = field(default=())

    @property
    def all(self) -> CaseResult:
        """All cases together: those before of which there is one."""
        compared = all(one.before is not None for one in self.cases)
        before = sum((one.before for one in self.cases if one.before is not None), Tally())
        return CaseResult(ALL, "", sum((one.now for one in self.cases), Tally()), before if compared else None)

    def failing(self, most: float | None) -> list[CaseResult]:
        """The cases that are wrong in a larger share than `most`, and those of which no answer was judged."""
        return [c for c in self.cases if not c.now.of or (most is not None and c.now.wrong > most * c.now.of)]

    def assert_wrong_at_most(self, share: float = 0.0) -> None:
        """Demand of each case that no more than this share of its answers is wrong, and that one was judged.

        Raises:
            AssertionError: its text has a line a case, with its problems.
        """
        __tracebackhide__ = True  # pytest shows the test's line, not ours
        if failing := self.failing(share):
            raise AssertionError("\n".join(line for case in failing for line in lines_of(case)))

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"cases": [one.to_json() for one in self.cases], "all": self.all.to_json()}


def lines_of(case: CaseResult) -> Iterable[str]:
    """A case for people: the sentence, then its remarks."""
    yield f"{case.id[:8]} {one_line(case.title, 100)}: {case.told}" if case.title else f"{case.id}: {case.told}"
    yield from (f"  {remark}" for remark in case.remarks)


class _EarlierTally(BaseModel):
    wrong: int
    of: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _within(self) -> _EarlierTally:
        if not 0 <= self.wrong <= self.of:
            raise ValueError("wrong must be a part of `of`")
        return self


class _EarlierCase(BaseModel):
    id: str
    now: _EarlierTally


class _Earlier(BaseModel):
    cases: list[_EarlierCase]


def read_results(file: Path) -> dict[str, Tally]:
    """What `RegressionResults.to_json` counted, by case.

    Raises:
        ConfigError: it is no such file.
    """
    earlier = model_of(read_data(file, most_bytes=MOST_BYTES, holds="results"), _Earlier, str(file))
    return {case.id: Tally(case.now.wrong, case.now.of) for case in earlier.cases}


def _json(one: Tally) -> dict[str, Any]:
    names = ("wrong", "of", "other", "unjudged", "failed", "problems")
    return {name: getattr(one, name) for name in names} | {"share": one.share and asdict(one.share)}


def _range(one: Estimate | None) -> str:
    return "" if one is None else f" ({_short(one.low)} to {_short(one.high)})"


def _short(value: float) -> str:
    """Two decimals, without a leading zero."""
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
