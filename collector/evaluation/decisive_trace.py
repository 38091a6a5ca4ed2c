"""The decisive error of a trace that people know to have failed, asked as in production once its runs are judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...judges.llm.case import Deliberation
from ...judges.llm.client import Client
from ...judges.reviews.decisive import decisive_case
from ...judges.reviews.wrong_outcome import wrong_outcome
from ...judges.verification import answered
from ...processors.transcript.trace_record import trace_record
from ...schemas.decisive import DECISIVE
from ...schemas.errors import TracejuryError
from ...schemas.findings import Finding
from ...schemas.profiles import threshold
from ...schemas.trajectory import Trace
from ...schemas.verdicts import Subject, SubjectKind
from ..judging.llm.decisive.decisive_answer import decisive_answer
from ..judging.llm.judge_request import PromptBudget
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
