"""What came of a case: how often the step was wrong before and is now, and how sure the difference is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from tracejury.judges.llm.data_files import model_of, read_data
from tracejury.judges.measures.rates import hybrid
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.rates import Estimate
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.terminal import one_line

from .case import MOST_BYTES

ALL: Final = "all"
Count = Annotated[int, Field(ge=0)]


class Tally(BaseModel):
    """Answers of one step: `wrong` of `of` that could be judged; `other`: of these, with another error.

    `unjudged`: that nobody could judge, `failed`: calls that brought none. `problems`: why, each once.
    """

    model_config = ConfigDict(frozen=True)

    wrong: Count = 0
    of: Count = 0
    other: Count = 0
    unjudged: Count = 0
    failed: Count = 0
    problems: tuple[str, ...] = ()

    @property
    def share(self) -> Estimate | None:
        """Share of wrong answers with Wilson's interval; None without any that was judged."""
        interval = wilson(self.wrong, self.of)
        return Estimate(self.wrong / self.of, *interval) if interval else None

    def __add__(self, more: Tally) -> Tally:
        """Both together."""
        sums = {name: getattr(self, name) + getattr(more, name) for name in Tally.model_fields}
        return Tally(**sums | {"problems": tuple(dict.fromkeys(sums["problems"]))})


def difference(before: Tally, now: Tally) -> Estimate | None:
    """Share before less share now, by Newcombe's hybrid score interval (see `hybrid`); None where either is none.

    Of several cases together, each asked equally often, it is on the safe side: their own shares vary less than the
    answers of one step with the mean share would.
    """
    first, second = before.share, now.share
    return hybrid(second, first) if first is not None and second is not None else None


class CaseResult(BaseModel):
    """One case, or all of them together. `before`: None where nothing is compared."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str = ""
    now: Tally
    before: Tally | None = None

    @property
    def told(self) -> str:
        """`wrong in 7 of 10 before, 1 of 10 now, difference .60 (.17 to .81)`."""
        now, share = self.now, self.now.share
        if share is None:
            return "no answer was judged"
        if self.before is None or (found := difference(self.before, now)) is None:
            return f"wrong in {now.wrong} of {now.of} now, {_short(share)}"
        was = f"wrong in {self.before.wrong} of {self.before.of} before"
        return f"{was}, {now.wrong} of {now.of} now, difference {_short(found)}"

    @property
    def lines(self) -> Iterator[str]:
        """For people, safe to print: the sentence, and what else is to be known of the answers now."""
        now = self.now
        yield f"{self.id[:8]} {one_line(self.title, 100)}".strip() + f": {self.told}"
        for number, noun, what in (
            (now.failed, "call", "brought no answer"),
            (now.unjudged, "answer", "could not be judged"),
            (now.other, "answer", "with another error"),
        ):
            if number:
                yield f"  {counted(number, noun)} {what}"
        yield from (f"  {one_line(problem, 300)}" for problem in now.problems)


class RegressionResults(BaseModel):
    """All cases of a folder."""

    model_config = ConfigDict(frozen=True)

    cases: tuple[CaseResult, ...]

    @property
    def all(self) -> CaseResult:
        """All cases together; compared where each of them is."""
        before = [case.before for case in self.cases if case.before is not None]
        compared = sum(before, Tally()) if len(before) == len(self.cases) else None
        return CaseResult(id=ALL, now=sum((case.now for case in self.cases), Tally()), before=compared)

    def to_json(self) -> dict[str, Any]:
        """For programs, and for `read_results`."""
        cases = [(case, case.before and difference(case.before, case.now)) for case in (*self.cases, self.all)]
        told = [{**case.model_dump(mode="json"), "difference": found and asdict(found)} for case, found in cases]
        return {"cases": told[:-1], "all": told[-1]}

    def failing(self, most: float | None) -> list[CaseResult]:
        """The cases that are wrong in a larger share than `most`, and those of which no answer was judged."""
        return [c for c in self.cases if not c.now.of or (most is not None and not c.now.wrong <= most * c.now.of)]

    def assert_wrong_at_most(self, share: float = 0.0) -> None:
        """Demand of each case that no more than this share of its answers is wrong, and that one was judged.

        Raises:
            AssertionError: its text has a line a case, with its problems.
        """
        __tracebackhide__ = True  # pytest shows the test's line, not ours
        if failing := self.failing(share):
            raise AssertionError("\n".join(line for case in failing for line in case.lines))


def read_results(file: Path) -> dict[str, Tally]:
    """The tallies now of an earlier run, by case, from its JSON.

    Raises:
        ConfigError: it is no such file.
    """
    data: Any = read_data(file, most_bytes=MOST_BYTES, holds="results")
    found = {case.id: case.now for case in model_of(data, RegressionResults, str(file)).cases}
    if any(tally.wrong > tally.of for tally in found.values()):
        raise ConfigError(f"{file}: of a case, more answers are wrong than were judged")
    return found


def _short(one: Estimate) -> str:
    """`.60 (.18 to .80)`."""
    value, low, high = (f"{part:.2f}".replace("0.", ".", 1) for part in (one.value, one.low, one.high))
    return f"{value} ({low} to {high})"
