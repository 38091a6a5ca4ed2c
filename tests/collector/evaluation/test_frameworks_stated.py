"""What an export cannot tell is found by rule, and what it does not tell does not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from framework_folder import ANSWER, QUERY, TASK, agent, call, chat, run_spans, tool, truth, words, write
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_parts import text, traces

from tracejury.collector.evaluation.frameworks import stated as rules
from tracejury.collector.evaluation.frameworks.export import Export, export_of
from tracejury.collector.evaluation.frameworks.items import Measure, ScoredFact
from tracejury.collector.evaluation.frameworks.run import ReconstructionEvaluation, evaluate_frameworks


def listed(e: ReconstructionEvaluation) -> set[tuple[str, str, str]]:
    """What is not told: measure, item, rule."""
    return {(i.measure.value, i.what, rule) for i in e.items for rule in i.rules}


def untold(e: ReconstructionEvaluation, measure: Measure) -> list[ScoredFact]:
    """The items of a measure that do not count."""
    return [i for i in e.items if i.measure is measure and not i.stated]


def without(spans: list[Span], *numbers: int) -> list[Span]:
    """The spans but those with these ids."""
    return [s for s in spans if int.from_bytes(s.span_id) not in numbers]


def stripped(spans: list[Span], *keys: str) -> list[Span]:
    """The spans without these attributes."""
    for span in spans:
        kept = [a for a in span.attributes if a.key.removeprefix("gen_ai.") not in keys]
        del span.attributes[:]
        span.attributes.extend(kept)
    return spans


def test_calls_of_a_bare_client_tell_no_agents(tmp_path: Path) -> None:
    """Each call is a trace of its own: the calls count, whose they were does not, and no agent is made up."""
    spans = without(run_spans(), 1, 3, 4, 6)
    for number, span in enumerate(spans, 1):
        span.parent_span_id, span.trace_id = b"", number.to_bytes(16)
    e = evaluate_frameworks(write(tmp_path, truth(), spans))
    assert {rule for _, _, rule in listed(e)} >= {rules.BARE, rules.NO_AGENT, rules.NO_EXECUTION}
    assert len(untold(e, Measure.AGENTS)) == len(untold(e, Measure.TOOL_CALLS)) == 2
    assert all(i.ok for i in e.items)


def test_a_killed_run_tells_what_came_before(tmp_path: Path) -> None:
    """One run of two is there with its span; of the other, and of the manager, only calls."""
    meta = truth("S9", final_answers=[None])
    meta["ground_truth"]["agents"][1]["invocations"] = 2
    meta["ground_truth"]["injected_failures"] = [{"type": "process_killed", "agent": "researcher"}]
    killed = {"name": "search", "args": {"query": "Elbe"}, "executed": True, "error": "process killed in the tool"}
    meta["ground_truth"]["tool_calls_by_agent"]["researcher"].append(killed)
    meta["ground_truth"]["delegations"].append(
        {"turn": 0, "to": "researcher", "parallel": False, "tool_calls": [killed], "answer": None}
    )
    spans = [*without(run_spans(), 1, 8), chat(11, 10, [], call("search", {"query": "Elbe"}, "c3"))]
    e = evaluate_frameworks(write(tmp_path, meta, spans))
    assert listed(e) >= {
        ("agents", "manager", rules.NO_NAME),
        ("agents", "researcher", rules.LOST_RUN),
        ("tool calls", "manager.ask #0", rules.NO_AGENT),
        ("tool calls", "researcher.search #1", rules.NO_EXECUTION),
        ("tool calls", "researcher.search #1", rules.NO_ERROR),
    }
    assert [(i.what, i.expected, i.got) for i in e.items if i.measure is Measure.AGENTS and i.stated] == [
        ("researcher", 1, 1)
    ]
    assert [i for i in e.items if not i.ok and i.measure is not Measure.MANAGER] == []


@pytest.mark.parametrize(("name", "honest"), [("graph", True), ("researcher", False)])
def test_an_agent_without_its_name_goes_by_another(tmp_path: Path, name: str, *, honest: bool) -> None:
    """By whatever stands there, but not by the name of another agent."""
    spans = [agent(1, 0, name), *run_spans()[1:]]
    e = evaluate_frameworks(write(tmp_path, truth(), spans))
    assert ("agents", "manager", rules.NO_NAME) in listed(e)
    assert [i.ok for i in untold(e, Measure.TOOL_CALLS)] == [honest]


def test_without_content_the_rest_counts(tmp_path: Path) -> None:
    """Names, order and states of the calls are told, arguments and what a failure is told by are not."""
    meta = truth("S2")
    at = [{"span_id": (6).to_bytes(8).hex(), "name": "search", "status": "UNSET"}]
    loop = {"type": "loop", "agent": "researcher", "args": {"query": QUERY}, "spans": at}
    meta["ground_truth"]["injected_failures"] = [loop, loop | {"spans": []}]
    silent = ("input.messages", "output.messages", "tool.call.arguments", "tool.call.result")
    e = evaluate_frameworks(write(tmp_path, meta, stripped(run_spans(), *silent)))
    assert listed(e) == {
        ("tool calls", "manager.ask #0", rules.NO_ARGUMENTS),
        ("tool calls", "researcher.search #0", rules.NO_ARGUMENTS),
        ("injected failures", "loop", rules.NO_TEXT),
        ("injected failures", "loop", rules.NO_SPAN),
    }
    assert untold(e, Measure.TOOL_CALLS) == []
    assert all(i.ok for i in e.items)


def test_a_sub_agent_in_a_trace_of_its_own_needs_a_tie(tmp_path: Path) -> None:
    """Without link and session its parent is not told; with the same session it is."""

    def apart(*sessions: str) -> list[Span]:
        spans = run_spans()
        for span in spans[3:7]:
            span.trace_id = b"2" * 16
        spans[3].parent_span_id = b""
        for span, session in zip((spans[0], spans[3]), sessions, strict=True):
            span.attributes.append(text("session.id", session))
        return spans

    item = ("parent relations", "researcher under manager", rules.UNLINKED)
    assert item in listed(evaluate_frameworks(write(tmp_path / "a", truth(), apart("s1", "s2"))))
    assert item not in listed(evaluate_frameworks(write(tmp_path / "b", truth(), apart("s1", "s1"))))


def test_calls_without_spans_do_not_count(tmp_path: Path) -> None:
    """No LLM span, no LLM call to count."""
    e = evaluate_frameworks(write(tmp_path, truth(), without(run_spans(), 2, 5, 7, 8)))
    assert ("LLM calls", "LLM calls", rules.NO_LLM) in listed(e)
    assert [i.ok for i in untold(e, Measure.LLM_CALLS)] == [True]


def test_an_error_without_status_and_text_is_not_told(tmp_path: Path) -> None:
    """Neither as the tool's status nor as words anywhere; its words may be redacted where the status is there."""
    meta = truth()
    meta["ground_truth"]["tool_calls_by_agent"]["researcher"][0]["error"] = "SearchBackendError: returned 503"
    item = ("tool calls", "researcher.search #0", rules.NO_ERROR)
    assert item in listed(evaluate_frameworks(write(tmp_path / "a", meta, run_spans())))
    redacted = run_spans()
    redacted[5].status.code = Status.STATUS_CODE_ERROR
    assert item not in listed(evaluate_frameworks(write(tmp_path / "b", meta, redacted)))


def one(**attributes: str) -> Export:
    """An export of one span with these attributes, "_" for "."."""
    span = chat(1, 0, [], words(ANSWER))
    span.attributes.extend(text(key.replace("_", "."), value) for key, value in attributes.items())
    return export_of([traces(span)])


@pytest.mark.parametrize(
    ("attributes", "marks"),
    [
        ({"agent_name": "researcher"}, True),
        ({"metadata": json.dumps({"lc_agent_name": "researcher", "n": 1})}, True),
        ({"output_value": "AgentOutput(current_agent_name='researcher')"}, True),
        ({"output_value": json.dumps({"x": json.dumps({"coworker": "researcher"})})}, True),
        ({"tool_name": "researcher"}, False),
        ({"agent_name": "researchers"}, False),
        ({"input_value": "Ask the researcher."}, False),
    ],
)
def test_a_name_is_an_agents_where_it_stands_as_one(attributes: dict[str, str], *, marks: bool) -> None:
    """In an attribute of its own or a field that says so; not as a tool's name, nor in prose."""
    assert bool(one(**attributes).marked("researcher")) is marks


def test_a_tool_span_with_an_agents_name_is_not_its_run() -> None:
    """A delegation is called like the agent in many frameworks."""
    delegation = export_of([traces(tool(1, 0, "researcher", {"task": TASK}, ANSWER, "c1"))])
    assert not delegation.marked("researcher")
    assert export_of([traces(agent(1, 0, "researcher"))]).marked("researcher")


@given(value=st.text(min_size=1, max_size=50), depth=st.integers(0, 3), ascii_only=st.booleans())
def test_a_text_stands_however_it_is_quoted(*, value: str, depth: int, ascii_only: bool) -> None:
    """Plain, or as a JSON string in a JSON string, some levels deep."""
    quoted: Any = value
    for _ in range(depth):
        quoted = json.dumps({"a": quoted}, ensure_ascii=ascii_only and all(ord(c) < 1 << 16 for c in value))
    assert one(input_value=quoted).stands(value)
