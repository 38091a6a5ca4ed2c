"""No model is asked about nothing."""

from __future__ import annotations

from dataclasses import replace

from canned_client import CannedClient
from doctor_traces import AGENT, CALL, TOOL, built, span, whole, without

from tracejury.collector.judging.llm.decisive.decisive_answer import NOTHING_RECORDED, decisive_answer
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.subjects import subjects
from tracejury.judges.reviews.decisive import decisive_case
from tracejury.processors.transcript.trace_record import trace_record
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Subject, SubjectKind

SILENT = without(CALL, "input", "output", "system_instructions")


async def decided(trace: Trace, client: CannedClient) -> Deliberation:
    case = decisive_case(trace, trace_record(trace), (), "the run ended without an answer", 0.15)
    how = PromptBudget(llm_judges_of(load_set("production"), "scripted"), 30_000, len)
    subject = Subject(SubjectKind.TRACE, trace.trace_id, trace.trace_id)
    return await decisive_answer(case, subject, "v1", how, client, probability=0.5)


async def test_the_decisive_error_is_not_asked_for_where_nothing_is_recorded() -> None:
    """Neither an error nor a text; the verdict is that there is nothing to judge."""
    client = CannedClient(lambda _: "{}")
    for trace in (built([span(1, 0, AGENT), span(2, 1, SILENT)]), replace(built(whole()), runs=())):
        (verdict,) = (await decided(trace, client)).verdicts
        assert (verdict.judge, verdict.not_applicable, verdict.score) == (DECISIVE, True, None)
        assert (verdict.reasons, verdict.sampling_probability) == (NOTHING_RECORDED, 0.5)
    assert client.asked == []
    await decided(built(whole()), client)
    assert client.asked


def test_a_run_of_which_nothing_is_recorded_is_no_subject() -> None:
    """A text or a tool's call makes it one."""
    assert subjects(built([span(1, 0, AGENT), span(2, 1, SILENT)])) == ()
    assert len(subjects(built([span(1, 0, AGENT), span(2, 1, CALL)]))) == 1
    called = without(TOOL, "tool.call.arguments", "tool.call.result")
    assert len(subjects(built([span(1, 0, AGENT), span(2, 1, SILENT), span(3, 1, called)]))) == 1
