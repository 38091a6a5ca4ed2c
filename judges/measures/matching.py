"""The annotated errors that a judge caught and localised, as "What is your agent's GPA?" defines them.

Whether a finding speaks of an annotated error is a matter of content, so somebody has to say it: an adjudicating model
or a person, pair by pair. Where it points is a matter of span ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from tracejury.judges.agreement import Annotated, Predicted

from .dimension_labels import JUDGES


@dataclass(frozen=True, slots=True)
class Match:
    """One pair that was looked at: indices of the annotated error and of the finding, and whether they say the same."""

    error: int
    finding: int
    caught: bool


class Level(IntEnum):
    """The paper's scale of what a judge made of an annotated error."""

    MISSED = 0
    CAUGHT = 1  # by content, at another span
    LOCALISED = 2  # by content, at the annotated span


class Basis(StrEnum):
    """The basis on which errors count as caught."""

    ADJUDICATED = "adjudicated"
    SAME_SPAN = "same-span"

    @property
    def note(self) -> str:
        """One line on how to read figures on this basis."""
        return _NOTES[self]


_NOTES: Final[Mapping[str, str]] = {
    "adjudicated": "caught: a matcher says that a finding speaks of the error; localised: one such is at its span",
    "same-span": "nobody adjudicated: caught is only what is localised, whatever the finding says; a lower bound where "
    "findings say what annotators mean",
}


@dataclass(frozen=True, slots=True)
class Catch:
    """The outcome for one error.

    `nearby`: a finding that caught it (where nobody adjudicated: any finding) names its span, as its own or among
    `elsewhere`.
    """

    level: Level = Level.MISSED
    nearby: bool = False

    def __or__(self, other: Catch) -> Catch:
        """The outcome of two findings, or two judges, together."""
        return Catch(max(self.level, other.level), self.nearby or other.nearby)


@dataclass(frozen=True, slots=True)
class Catches:
    """Of each annotated error, in order, what each judge made of it; judges that made nothing of it are left out.

    `judges`: all those that count, by dimension (PQ, …) or, for findings without a dimension, by the judge's name.
    `pairs`: how many pairs a matcher looked at.
    """

    basis: Basis
    judges: tuple[str, ...]
    by_error: tuple[Mapping[str, Catch], ...]
    pairs: int = 0

    def of(self, error: int, judge: str) -> Catch:
        """The outcome of one judge for one error."""
        return self.by_error[error].get(judge, Catch())

    def together(self, error: int) -> Catch:
        """The outcome of all judges for one error."""
        result = Catch()
        for catch in self.by_error[error].values():
            result |= catch
        return result


def catches(
    annotated: Sequence[Annotated], predicted: Sequence[Predicted], matches: Iterable[Match] | None = None
) -> Catches:
    """The outcome of each judge for each error.

    With `matches` (indices into the two sequences), a finding catches the errors that it is matched with; a pair that
    nobody looked at is no match, and of a pair decided twice the last counts. Without, a finding catches every error
    at its own span. Either way it localises what it catches at its own span. A finding of several dimensions is each
    of their judges' finding: in a panel one finding stands for all faults of one decision.

    Raises:
        IndexError: a match names an error or a finding that is not there.
        ValueError: a match pairs an error and a finding of two traces.
    """
    decided = None if matches is None else {(m.error, m.finding): m.caught for m in matches}
    if decided is None:
        basis, by_content, pairs = Basis.SAME_SPAN, Level.MISSED, _by_span(annotated, predicted)
    else:
        _check(annotated, predicted, decided)
        basis, by_content, pairs = Basis.ADJUDICATED, Level.CAUGHT, [pair for pair, yes in decided.items() if yes]
    by_error: list[defaultdict[str, Catch]] = [defaultdict(Catch) for _ in annotated]
    for error, finding in pairs:
        catch = _catch(annotated[error], predicted[finding], by_content)
        for judge in credited(predicted[finding]):
            by_error[error][judge] |= catch
    others = {judge for p in predicted for judge in credited(p)} - set(JUDGES)
    return Catches(basis, (*JUDGES, *sorted(others)), tuple(map(dict, by_error)), len(decided or ()))


def credited(finding: Predicted) -> tuple[str, ...]:
    """The judges that a finding counts for: each of its dimensions, else the judge that made it."""
    return tuple(dict.fromkeys(finding.dimensions)) or (finding.judge,)


def _catch(error: Annotated, finding: Predicted, by_content: Level) -> Catch:
    here = finding.span_id == error.span_id
    return Catch(Level.LOCALISED if here else by_content, here or error.span_id in finding.elsewhere)


def _by_span(annotated: Sequence[Annotated], predicted: Sequence[Predicted]) -> list[tuple[int, int]]:
    """Pairs of an error and a finding that names its span, as its own or elsewhere."""
    at: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, finding in enumerate(predicted):
        for span in {finding.span_id, *finding.elsewhere}:
            at[finding.trace_id, span].append(index)
    return [(e, f) for e, error in enumerate(annotated) for f in at.get((error.trace_id, error.span_id), ())]


def _check(annotated: Sequence[Annotated], predicted: Sequence[Predicted], pairs: Iterable[tuple[int, int]]) -> None:
    for error, finding in pairs:
        if not (0 <= error < len(annotated) and 0 <= finding < len(predicted)):
            raise IndexError(f"no pair of error {error} and finding {finding}")
        if annotated[error].trace_id != predicted[finding].trace_id:
            raise ValueError(f"error {error} and finding {finding} are of two traces")
