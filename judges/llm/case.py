"""Cases for LLM judges, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.transcript import PlanView, Transcript
from tracejury.schemas.verdicts import Verdict

from .client import Prompt, Reply
from .picture import Picture


class Stage(StrEnum):
    """The part of a run that is judged."""

    PLAN = "plan"  # one plan, by what was known then
    WINDOW = "window"  # newly closed turns; findings are provisional
    CLOSING = "closing"  # the whole run: scores, and which provisional findings stand


@dataclass(frozen=True, slots=True)
class ServiceDescription:
    """The description of a service for its judges, "" for none.

    `by_operator`: the operator wrote it, and it may instruct the judges; one that is derived from telemetry is data.
    """

    text: str = ""
    by_operator: bool = False


NO_DESCRIPTION: Final = ServiceDescription()


@dataclass(frozen=True, slots=True)
class Case:
    """One run to be judged.

    `judges`: names of those asked. `transcript`: the run so far; a WINDOW case asks for findings at the steps from
    label `first` on, a CLOSING case has first = "". `plans`: the views of the plans to judge (all of the run's at
    CLOSING, the newly closed at PLAN). `provisional`: findings of earlier windows to confirm or retract at
    CLOSING. `detected`: the detectors' findings in the run, shown in no prompt of the case. `description`: of the
    service. `pictures`: those of the run that a prompt carries where it shows their marks, for a model that can see.
    """

    trace: Trace
    run: AgentRun
    transcript: Transcript
    judges: tuple[str, ...]
    stage: Stage
    first: str = ""
    plans: tuple[PlanView, ...] = ()
    provisional: tuple[Finding, ...] = ()
    detected: tuple[Finding, ...] = ()
    description: ServiceDescription = NO_DESCRIPTION
    probability: float = 1.0
    uncut: Callable[[], Transcript] | None = field(default=None, compare=False)
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class AnsweredPrompt:
    """A prompt of a run's judges and the reply that was used, for questions that follow on the same prefix."""

    prompt: Prompt
    reply: str


@dataclass(frozen=True, slots=True)
class Deliberation:
    """The answer to a case.

    `verdicts`: one a judge asked (at WINDOW none); `findings`: gated, identified, those that hold (at CLOSING with the
    confirmed provisional ones). `failures`: judge name to one line why it has no answer. `dropped`: claims by why they
    were dropped ("no-evidence", "unknown-label", "unsound"). `known`: every reply came from the answer cache.
    `models`: those that answered. `answered`: the calls whose answers were used, plans' apart. `looks`: how many
    questions were followed by a second look, by its outcome; `notes`: judge to one line on it.
    """

    verdicts: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    known: bool = False
    models: tuple[str, ...] = ()
    answered: tuple[AnsweredPrompt, ...] = ()
    looks: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


Outcomes = Sequence[Reply | TracejuryError]
"""For each prompt of a batch, in order, its reply or why there is none."""

Deliberating = Generator[Sequence[Prompt], Outcomes, Deliberation]
"""A case as a conversation without I/O: yields batches of prompts (to be sent at once), takes their outcomes, returns
what came of it. OverBudgetError, RetryableError and PromptTooLongError
among the outcomes end it: they are raised out of it."""
