"""The JSON of a trace is exactly what programs were promised."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tracejury.collector.queries.errors import errors_of_trace
from tracejury.collector.queries.present import present_judged, present_row, present_trace
from tracejury.collector.queries.present_errors import present_error, present_located_finding
from tracejury.judges.grouping import standing_errors
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.findings import Finding, Verification
from tracejury.schemas.normalized import Json, Kind, Message, NormalizedSpan, ToolRequest
from tracejury.schemas.queries.listing import WorstError
from tracejury.schemas.queries.reader import LocatedFinding, TraceRow
from tracejury.schemas.spans import Span
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.text.jsontext import text_of
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, TraceState, Turn, TurnKind
from tracejury.schemas.verdicts import Judgement, Outcome, Subject, SubjectKind, Verdict
from tracejury.schemas.wire.base import WireModel
from tracejury.schemas.wire.errors import FindingJson
from tracejury.schemas.wire.traces import TokensJson, VerdictJson

TRACE = "0" * 31 + "a"
OTHER = "0" * 31 + "b"


def span(span_id: str, kind: Kind, trace_id: str = TRACE) -> NormalizedSpan:
    return NormalizedSpan(
        Span(trace_id, span_id, "", span_id, 0, 0), kind, "openinference", output_text=f"out {span_id}"
    )


def finding(span_id: str, **changes: Any) -> Finding:
    values: dict[str, Any] = {
        "id": f"id-{span_id}",
        "fingerprint": "fp",
        "tenant": "",
        "trace_id": TRACE,
        "span_id": span_id,
        "agent_run_id": "run1",
        "turn": 0,
        "judge": "rule",
        "dimensions": (Dimension.TOOL_CALLING, Dimension.LOGICAL_CONSISTENCY),
        "taxonomy": "trail",
        "category": "Formatting Errors",
        "severity": Severity.MEDIUM,
        "confidence": 0.68,
        "evidence": "quote",
        "explanation": "why",
        "first_seen": 1_795_169_386_123_456_789,
    }
    return Finding(**(values | changes))


def trace() -> Trace:
    agent, llm, tool, loose = (
        span("run1", Kind.AGENT),
        span("llm1", Kind.LLM),
        span("tool1", Kind.TOOL),
        span("loose", Kind.CHAIN, OTHER),
    )
    call = ToolCall("search", {"q": 1}, "found", requested=True, executed=True, error=None, call_id="call-1", span=tool)
    asked = ToolCall("read", None, None, requested=True, executed=False, error=None)
    turn = Turn(0, TurnKind.ACT, llm, (call, asked), ("run2",))
    manager = AgentRun("run1", "manager", "manager", agent, "", None, "goal", "", "answer", "ok", (turn,))
    below = AgentRun("run2", "", "sub-agent", None, "run1", 0, "", "", "", "unfinished", (Turn(0, TurnKind.ACT, None),))
    spans = {s.span_id: s for s in (agent, llm, tool, loose)}
    return Trace(
        TRACE, "", "svc", "ses", TraceState.OPEN, (manager, below), spans, (loose,), ("openinference",), 1000, 2000
    )


def plain(model: WireModel) -> dict[str, Any]:
    """As the API writes it."""
    found: dict[str, Any] = json.loads(text_of(model))
    return found


def test_a_trace_has_exactly_the_promised_keys_and_values() -> None:
    """Every key of the contract, runs, turns and calls in order, null where there is no id."""
    shown = plain(present_trace(trace(), [finding("llm1")]))
    assert {key: value for key, value in shown.items() if key not in {"agent_runs", "findings"}} == {
        "trace_id": TRACE,
        "trace_ids": [TRACE, OTHER],
        "session_id": "ses",
        "service": "svc",
        "state": "open",
        "spans": 4,
        "start": "1970-01-01T00:00:00.000001Z",
        "end": "1970-01-01T00:00:00.000002Z",
        "conventions": ["openinference"],
        "tokens": {"input": None, "output": None, "llm_calls": 1, "calls_without_usage": 1},
        "remainder": ["loose"],
        "errors": [],
        "verdicts": [],
        "not_judged": None,
        "status": "running",
    }
    manager, below = shown["agent_runs"]
    assert {key: value for key, value in manager.items() if key != "turns"} == {
        "id": "run1",
        "name": "manager",
        "role": "manager",
        "span_id": "run1",
        "parent_id": None,
        "parent_turn": None,
        "goal": "goal",
        "answer": "answer",
        "status": "ok",
        "not_judged": None,
        "inferred": False,
        "beside": False,
    }
    assert manager["turns"] == [
        {
            "index": 0,
            "kind": "act",
            "llm_span_id": "llm1",
            "text": "out llm1",
            "sub_run_ids": ["run2"],
            "tool_calls": [
                {
                    "name": "search",
                    "arguments": {"q": 1},
                    "result": "found",
                    "requested": True,
                    "executed": True,
                    "error": None,
                    "span_id": "tool1",
                    "call_id": "call-1",
                    "sub_run_id": None,
                },
                {
                    "name": "read",
                    "arguments": None,
                    "result": None,
                    "requested": True,
                    "executed": False,
                    "error": None,
                    "span_id": None,
                    "call_id": None,
                    "sub_run_id": None,
                },
            ],
        }
    ]
    assert (below["span_id"], below["parent_id"], below["parent_turn"]) == (None, "run1", 0)
    assert below["turns"][0]["llm_span_id"] is None


def test_a_finding_has_exactly_the_promised_keys_and_values() -> None:
    """The primary dimension is the first; times are ISO 8601 in UTC; what is not there is null."""
    found = finding("llm1", also_at=("s2",), linked=("f2",), turn=None, agent_run_id="")
    assert plain(FindingJson.model_validate(found)) == {
        "id": "id-llm1",
        "fingerprint": "fp",
        "title": "",
        "trace_id": TRACE,
        "span_id": "llm1",
        "agent_run_id": None,
        "turn": None,
        "judge": "rule",
        "dimension": "TC",
        "dimensions": ["TC", "LC"],
        "taxonomy": "trail",
        "category": "Formatting Errors",
        "severity": "MEDIUM",
        "confidence": 0.68,
        "evidence": "quote",
        "explanation": "why",
        "tool_span_id": None,
        "seen_by_span_id": None,
        "also_at": ["s2"],
        "linked": ["f2"],
        "state": "current",
        "first_seen": "2026-11-20T10:09:46.123456Z",
        "verification": None,
        "verified_by": None,
        "verification_reason": None,
        "withdrawn": None,
    }


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [(None, None), ("text", "text"), ({"a": [1]}, {"a": [1]}), ([1, "x"], '[1,"x"]'), (3, "3"), (True, "true")],
)
def test_arguments_are_an_object_a_text_or_null(arguments: Json, shown: object) -> None:
    """Whatever else a model passed is shown as its JSON text."""
    call = ToolCall("t", arguments, None, requested=True, executed=None, error=None)
    run = AgentRun("r", "", "manager", None, "", None, "", "", "", "ok", (Turn(0, TurnKind.ACT, None, (call,)),))
    shown_trace = present_trace(Trace(TRACE, "", "", "", TraceState.SETTLED, (run,), {}, ()), [])
    assert plain(shown_trace)["agent_runs"][0]["turns"][0]["tool_calls"][0]["arguments"] == shown


def test_findings_come_by_place() -> None:
    """By agent run, then turn (the run itself first), span and judge; those of no known run last."""
    given = [
        finding("z", agent_run_id="gone"),
        finding("b", agent_run_id="run2", turn=1),
        finding("a", agent_run_id="run2", turn=0),
        finding("y", turn=1),
        finding("x", turn=None),
    ]
    shown = present_trace(trace(), given)
    assert [f.span_id for f in shown.findings] == ["x", "y", "a", "b", "z"]
    assert present_trace(trace(), reversed(given)) == shown


def test_a_finding_outside_its_trace_names_service_and_agent() -> None:
    """The same keys as in the trace, and two more."""
    shown = present_located_finding(LocatedFinding(finding("llm1"), "svc", ""))
    assert plain(shown) == {**plain(FindingJson.model_validate(finding("llm1"))), "service": "svc", "agent": None}


def test_an_error_has_exactly_the_promised_keys_and_values() -> None:
    """What its lead says; spans that there are not are null."""
    lead = finding("llm1", judge="service-error", tool_span_id="tool1", title="A phrase", turn=None)
    other = finding("tool1", judge="timeout-error", tool_span_id="tool1", confidence=0.1)
    (located,) = errors_of_trace(trace(), map(summary, standing_errors([other, lead], ())), 0.5)
    assert plain(present_error(located)) == {
        "id": located.error.id,
        "trace_id": TRACE,
        "shown_trace_id": TRACE,
        "span_id": "llm1",
        "agent_run_id": "run1",
        "turn": None,
        "service": "svc",
        "agent": "manager",
        "title": "A phrase",
        "cause": "failed-call",
        "judge": lead.judge,
        "judges": [lead.judge, other.judge],
        "dimension": lead.dimensions[0].value,
        "dimensions": [d.value for d in lead.dimensions],
        "taxonomy": "trail",
        "category": lead.category,
        "severity": lead.severity.value,
        "confidence": lead.confidence,
        "evidence": lead.evidence,
        "explanation": lead.explanation,
        "shown_at": "tool1",
        "read_at": None,
        "repeated_at": [],
        "pattern": None,
        "finding_ids": [lead.id, other.id],
        "state": lead.state.value,
        "first_seen": "2026-11-20T10:09:46.123456Z",
        "unproven_on_service": False,
        "human_label": None,
        "verification": None,
        "verified_by": None,
        "verification_reason": None,
        "decisive": False,
        "decided_why": None,
        "instead": None,
    }
    assert errors_of_trace(trace(), map(summary, standing_errors([other], ())), 0.5) == []


def test_what_another_judge_says_of_a_finding_stands_at_it_and_at_the_error_that_it_leads() -> None:
    """State, by whom and why."""
    said = {"verification": "verified", "verified_by": "some/model", "verification_reason": "S3 says so."}
    lead = finding("llm1", **said | {"verification": Verification.VERIFIED})
    (located,) = errors_of_trace(trace(), map(summary, standing_errors([lead], ())), 0.5)
    assert said.items() <= plain(present_error(located)).items()
    assert said.items() <= plain(FindingJson.model_validate(lead)).items()


def test_verdicts_keep_unscored_apart_from_zero() -> None:
    """A judge's failure is null with its reason, never the lowest score."""
    subject = Subject(SubjectKind.TRACE, TRACE, TRACE)
    scored = VerdictJson.model_validate(Verdict("gf", "v1", subject, 0, reasons="r"))
    unscored = VerdictJson.model_validate(Verdict("gf", "v1", subject, None, unscored_reason="timeout"))
    assert (scored.score, scored.unscored_reason) == (0, None)
    assert (unscored.score, unscored.unscored_reason) == (None, "timeout")
    assert plain(scored.subject) == {"kind": "trace", "id": TRACE, "trace_id": TRACE}


def test_rows_of_lists() -> None:
    """A trace counts its errors by severity, all severities named, and names the worst; a judging counts what holds."""
    row = TraceRow(TRACE, "", "svc", TraceState.SETTLED, 3, ("m",), 1000, 2000, 3000, {Severity.HIGH: 2})
    assert present_row(row).errors == present_row(row).findings == {"LOW": 0, "MEDIUM": 0, "HIGH": 2}
    assert present_row(row).worst_error is None
    worst = WorstError("e" * 32, TRACE, "1" * 16, "Refund reported", Severity.HIGH)
    assert present_row(replace(row, worst=worst)).model_dump()["worst_error"] == {
        "id": "e" * 32,
        "trace_id": TRACE,
        "span_id": "1" * 16,
        "title": "Refund reported",
        "severity": "HIGH",
    }
    assert present_row(row).session_id is None
    judgement = Judgement(
        Subject(SubjectKind.TRACE, TRACE, TRACE),
        "detectors",
        "v",
        "h",
        1,
        1,
        Outcome.DONE,
        (finding("llm1"),),
        failures=(("rule", "KeyError: x"),),
    )
    assert plain(present_judged(judgement, 3)) == {
        "trace_id": TRACE,
        "findings": 1,
        "shown": 3,
        "failures": ["rule: KeyError: x"],
        "pending_judges": 0,
    }


def test_the_json_of_a_trace_can_be_written() -> None:
    """Nothing in it is a type of ours."""
    assert text_of(present_trace(trace(), [finding("llm1")])).startswith('{"trace_id"')


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ((), "out llm1"),
        ((Message("assistant", "", (ToolRequest("search", {"q": 1}),)),), ""),
        ((Message("assistant", "Looking."), Message("assistant", "Still.")), "Looking.\nStill."),
    ],
)
def test_the_text_of_a_turn_is_what_was_written_in_words(messages: tuple[Message, ...], text: str) -> None:
    """A reply that only asks for tool calls has no text; without recorded messages it is the recorded output."""
    shown = trace()
    run = shown.runs[0]
    llm = replace(span("llm1", Kind.LLM), output_messages=messages)
    changed = replace(run, turns=(replace(run.turns[0], llm=llm),))
    assert plain(present_trace(replace(shown, runs=(changed,)), []))["agent_runs"][0]["turns"][0]["text"] == text


def test_tokens_are_those_of_the_model_calls() -> None:
    """What the agent's span repeats is not counted again."""
    shown = trace()
    spans = dict(shown.spans)
    spans["llm1"] = replace(spans["llm1"], input_tokens=7, output_tokens=0)
    spans["run1"] = replace(spans["run1"], input_tokens=7, output_tokens=0)
    assert present_trace(replace(shown, spans=spans), []).tokens == TokensJson(input=7, output=0, llm_calls=1)
