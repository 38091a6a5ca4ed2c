"""The decisive error of a trace that people know to have failed, asked as in production once its runs are judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tracejury.collector.judging.llm.decisive.decisive_answer import decisive_answer
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.reviews.decisive import decisive_case
from tracejury.judges.reviews.wrong_outcome import wrong_outcome
from tracejury.judges.verification import answered
from tracejury.processors.transcript.trace_record import trace_record
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Subject, SubjectKind

from .judges_result import TraceResult

FAILED: Final = "people checked the outcome and found it wrong"
"""How it is known, where the judges of the runs do not say so."""


async def judge_decisive(
    trace: Trace, result: TraceResult, detected: Iterable[Finding], how: PromptBudget, version: str, client: Client
) -> Deliberation:
    """Which error decided, of those that the judges of the runs and the detectors found; what fails is not raised."""
    opinions = [opinion for run in result.runs for opinion in run.opinions]
    found = [*result.findings, *answered(detected, opinions)]
    outcome = wrong_outcome(trace, [verdict for _, verdict in result.verdicts]) or FAILED
    case = decisive_case(trace, trace_record(trace), found, outcome, threshold("recall"))
    subject = Subject(SubjectKind.TRACE, trace.trace_id, trace.trace_id, trace.tenant)
    try:
        return await decisive_answer(case, subject, version, how, client)
    except TracejuryError as error:
        return Deliberation(failures={DECISIVE: str(error)})
