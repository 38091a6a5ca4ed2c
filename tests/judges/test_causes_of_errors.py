"""One cause is one error, with its own title, on captures of real frameworks (captures/README.md)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from trajectories import load

from tracejury.judges.grouping import standing_errors
from tracejury.judges.registry import suite_of
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.normalized import Kind
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

CAPTURES = Path(__file__).parent / "captures"
SUITE = suite_of(())
FRAMEWORKS = ("langgraph", "llama_index", "openai_agents", "pydantic_ai", "smolagents", "strands")


def names(what: str) -> Sequence[str]:
    """The frameworks with such a capture."""
    return [framework for framework in FRAMEWORKS if (CAPTURES / f"{framework}_{what}.pb.gz").exists()]


@cache
def judged(name: str) -> tuple[Trace, tuple[AgentError, ...]]:
    """The only trace of a capture, and the errors that are shown of it in the balanced profile."""
    (spans,) = load(CAPTURES / f"{name}.pb.gz").values()
    trace = rebuild(spans)
    found = standing_errors(SUITE.judge(trace).findings, trace.runs)
    return trace, tuple(e for e in found if e.confidence() >= threshold("balanced"))


def titles(name: str) -> list[str]:
    """The titles of a capture's errors."""
    return [error.lead.title for error in judged(name)[1]]


@pytest.mark.parametrize("name", ["openai_agents_unknown", "openai_agents_streamed_unknown"])
def test_an_unknown_tool_that_ended_the_run_is_that_error_alone(name: str) -> None:
    """The run's own failure is part of it."""
    (error,) = judged(name)[1]
    assert error.lead.title == "Call of a tool that does not exist"
    assert error.severity() is Severity.HIGH
    assert "run-crashed" in {finding.judge for finding in error.findings}


@pytest.mark.parametrize("framework", names("http500"))
def test_a_providers_failure_is_no_output(framework: str) -> None:
    """Whatever words stand beside the status."""
    assert titles(f"{framework}_http500") == ["Model call failed"]


def test_a_step_limit_is_that_error_alone() -> None:
    """The step that hit it raised nothing of its own."""
    assert titles("llama_index_limit") == ["Run ended at a limit"]
    assert sorted(titles("llama_index_unknown")) == ["Call of a tool that does not exist", "Run ended at a limit"]


@pytest.mark.parametrize("framework", names("length"))
def test_an_answer_cut_at_the_token_limit_is_found(framework: str) -> None:
    """Wherever the reason is exported; the parsing or the run that failed by it is part of it."""
    found = titles(f"{framework}_length")
    assert "Output cut at the token limit" in found
    assert not {"Output that cannot be parsed", "Run ended at a limit"} & set(found)


@pytest.mark.parametrize("framework", names("empty"))
def test_an_empty_reply_is_no_answer(framework: str) -> None:
    """Its record is not taken for one."""
    trace, _ = judged(f"{framework}_empty")
    assert trace.runs[0].answer == ""
    assert "Empty answer" in titles(f"{framework}_empty")


@pytest.mark.parametrize("framework", names("malformed"))
def test_arguments_that_are_no_json_are_found(framework: str) -> None:
    """Also where the framework makes others of them and runs the tool; LOW, for the next call was right."""
    error = next(e for e in judged(f"{framework}_malformed")[1] if e.lead.judge == "malformed-arguments")
    assert error.severity() is Severity.LOW
    assert error.lead.evidence == '{"query": "Alder'


@pytest.mark.parametrize("what", ["ok", "length", "stream"])
def test_llama_index_shows_the_users_words_and_the_answer(what: str) -> None:
    """Not the state and the event that its workflow hands itself."""
    trace, _ = judged(f"llama_index_{what}")
    assert trace.runs[0].goal == "How long is the Alder Bridge?"
    assert trace.runs[0].answer == "The Alder Bridge is 312 metres " + ("lo" if what == "length" else "long.")


@pytest.mark.parametrize("framework", names("badargs"))
def test_arguments_that_were_then_right_are_slight(framework: str) -> None:
    """The title says what was wrong with them."""
    (error,) = judged(f"{framework}_badargs")[1]
    assert error.severity() is Severity.LOW
    assert error.lead.title in ("Argument the tool does not take", "Argument missing")


@pytest.mark.parametrize("framework", names("toolfail"))
def test_a_tool_that_failed_by_itself_is_quoted_at_its_span(framework: str) -> None:
    """With its own words; the reason names the step that asked for it, whose finding stays part of the error."""
    trace, errors = judged(f"{framework}_toolfail")
    (error,) = errors
    assert trace.spans[error.lead.span_id].kind is Kind.TOOL
    assert "503" in error.lead.evidence
    assert "asked for by step 1 of clerk" in error.lead.explanation
    asking = trace.runs[0].turns[0].llm
    assert asking is not None
    assert asking.span_id in error.spans


def test_an_error_that_only_the_call_caused_stays_at_the_call() -> None:
    """Wrong arguments are the caller's."""
    trace, (error,) = judged("openai_agents_badargs")
    assert trace.spans[error.lead.span_id].kind is Kind.LLM
