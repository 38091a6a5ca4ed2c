"""Error rates over memory: what was asked, and answers that are put in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tracejury.collector.queries.measures import ComparedMeasures, MeasureAnswer, answer_of
from tracejury.schemas.queries.measures import MeasuredPack, MeasureQuery
from tracejury.schemas.rates import By, Population, Rate, RateAnswer, RateComparison, RateQuery, ToolRates, Unjudged

NOTHING = RateAnswer(Population.DETECTORS, Rate(0, 0, 0, 0.0, sampled=False, share=None, mean=None), (), Unjudged())


@dataclass
class MemoryRates:
    """Answers every question with `answer`; keeps what it was asked."""

    answer: RateAnswer = NOTHING
    asked: list[RateQuery] = field(default_factory=list)

    def ask(self, query: RateQuery) -> RateAnswer:
        """What was put in."""
        self.asked.append(query)
        return self.answer

    def calls(self, query: RateQuery) -> ToolRates:
        """The rows of what was put in."""
        answer = self.ask(replace(query, by=By.TOOL))
        return ToolRates(answer.population, answer.rows, answer.left)

    def compare(self, a: RateQuery, b: RateQuery) -> RateComparison:
        """Twice what was put in, without a difference."""
        return RateComparison(self.ask(a), self.ask(b), None, None, None, None)


@dataclass
class MemoryMeasures:
    """Packs that are put in, without any session; keeps what it was asked."""

    packs: list[MeasuredPack] = field(default_factory=list)
    asked: list[MeasureQuery] = field(default_factory=list)

    def ask(self, query: MeasureQuery) -> list[MeasureAnswer]:
        """No sessions."""
        self.asked.append(query)
        return [answer_of(pack, query, ()) for pack in self.packs]

    def compare(self, answer: MeasureAnswer, to: MeasureQuery) -> ComparedMeasures:
        """Without a difference."""
        self.asked.append(to)
        return ComparedMeasures(to, answer.total, {})
