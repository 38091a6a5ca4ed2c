"""A case for checks: an exchange or a session, its record, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracejury.judges.llm.case import NO_DESCRIPTION, ServiceDescription
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import RecordedExchange, SessionRecord, Step
from tracejury.schemas.verdicts import Subject

from .check_types import Check


@dataclass(frozen=True, slots=True)
class AskedCheck:
    """A check with its items; those of observations are () and listed by the judge from the answer.

    `pack`: its name, the taxonomy of what is found. `answers`: of a check that is answered by structure; `unanswered`:
    why there are none, where that is known. `shown`: what the task card says under the keys that the check shows.
    """

    check: Check
    items: tuple[CheckItem, ...] = ()
    pack: str = ""
    answers: tuple[ItemAnswer, ...] = ()
    unanswered: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckCase:
    """A subject and the checks asked of it in one go.

    `record`: the session up to the end of the subject. `exchange`: number of the exchange in the record (from 0), None
    for the session as a whole. `traces`: those that the record's steps are of, by each id that their spans have.
    `description`: of the service. `probability`: that the subject is judged at all.
    """

    subject: Subject
    record: SessionRecord
    traces: Mapping[str, Trace]
    checks: tuple[AskedCheck, ...]
    service: str = ""
    exchange: int | None = None
    description: ServiceDescription = NO_DESCRIPTION
    probability: float = 1.0

    @property
    def judged(self) -> RecordedExchange | None:
        """The exchange that is the subject, None for the session."""
        return None if self.exchange is None else self.record.exchanges[self.exchange]

    @property
    def steps(self) -> Sequence[Step]:
        """The steps of the subject."""
        steps = self.record.transcript.steps
        return steps[self.judged.first : self.judged.last] if self.judged else steps

    @property
    def answered(self) -> str:
        """Label of the step that holds the exchange's answer, "" for none."""
        return self.judged.answered if self.judged and self.judged.exchange.answer else ""
