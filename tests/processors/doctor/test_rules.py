"""Every rule of the doctor: what fires it, and what does not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from doctor_traces import (
    AGENT,
    ANSWERED,
    ASKED,
    CALL,
    LOST,
    OTHER,
    SECOND,
    SENT,
    START,
    TOOL,
    TRACE,
    WROTE,
    built,
    genai,
    span,
    whole,
    without,
)

from tracejury.processors.doctor import Diagnosis, ExternalRun, diagnose
from tracejury.schemas.spans import STATUS_ERROR, Span, SpanLink
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace, TraceState


def kinds(*traces: Trace, elsewhere: Sequence[ExternalRun] = ()) -> list[str]:
    return [gap.kind for gap in diagnose(traces, elsewhere).gaps]


def test_nothing_is_missing() -> None:
    """A whole trace has no gap, not even a remark; what it shows is counted."""
    found = diagnose([built(whole())])
    assert not found.gaps
    assert found.conventions == (("genai", 3),)
    assert found.scopes == (("some.scope", "", 3),)
    assert [(a.name, a.parent, a.runs, a.llm_calls, a.tool_calls) for a in found.agents] == [("manager", "", 1, 1, 1)]
    assert [(t.name, t.calls, t.arguments, t.results, t.failed, t.spans) for t in found.tools] == [
        ("search", 1, 1, 1, 0, 1)
    ]
    assert (found.contents.calls, found.contents.inputs, found.contents.outputs) == (1, 1, 1)


CASES: dict[str, tuple[list[Span], list[str]]] = {
    "no convention": ([span(1, 0, {"http.method": "GET"})], ["no-convention"]),
    "set-up only": ([span(1, 0, genai(operation__name="create_agent", agent__name="m"))], ["nothing-done"]),
    "a bare client": ([span(2, 0, CALL)], ["no-agents", "no-session"]),
    "a bare client without tools": (
        [span(2, 0, without(CALL, "tool."))],
        ["no-agents", "no-tool-schemas", "no-session"],
    ),
    "no LLM spans": ([span(1, 0, AGENT)], ["no-llm-calls"]),
    "no name": ([span(1, 0, without(AGENT, "agent.name"), name="invoke_agent"), *whole()[1:]], ["unnamed-agents"]),
    "a span's own name": ([span(1, 0, without(AGENT, "agent.name"), name="invoke_agent shopper"), *whole()[1:]], []),
    "no content": ([span(1, 0, AGENT), span(2, 1, without(CALL, "system", "input", "output"))], ["no-content"]),
    "names without content": (
        [
            span(1, 0, AGENT),
            span(
                2,
                1,
                CALL
                | {
                    "gen_ai.system_instructions": '[{"type": "text"}]',
                    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text"}]}]',
                    "gen_ai.output.messages": (
                        '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search"}]}]'
                    ),
                },
            ),
            span(3, 1, without(TOOL, "tool.call.arguments", "tool.call.result")),
        ],
        ["no-content", "no-tool-content"],
    ),
    "hidden content": (
        [
            span(1, 0, {"openinference.span.kind": "AGENT", "agent.name": "m", "session.id": "s"}),
            span(
                2,
                1,
                {
                    "openinference.span.kind": "LLM",
                    "input.value": "__REDACTED__",
                    "output.value": "__REDACTED__",
                    "llm.token_count.prompt": "3",
                },
            ),
        ],
        ["no-content"],
    ),
    "one side": ([span(1, 0, AGENT), span(2, 1, without(CALL, "output"))], ["half-content"]),
    "no arguments": (
        [span(1, 0, AGENT), span(2, 1, ANSWERED), span(3, 1, without(TOOL, "tool.call"))],
        ["no-tool-content"],
    ),
    "arguments in messages": (
        [span(1, 0, AGENT), span(2, 1, CALL), span(3, 1, without(TOOL, "tool.call.arguments"))],
        ["tool-content-in-messages"],
    ),
    "no schemas": ([span(1, 0, AGENT), span(2, 1, without(CALL, "tool.")), span(3, 1, TOOL)], ["no-tool-schemas"]),
    "no system prompt": (
        [span(1, 0, AGENT), span(2, 1, without(CALL, "system")), span(3, 1, TOOL)],
        ["no-system-prompt"],
    ),
    "no session": ([span(1, 0, without(AGENT, "conversation")), *whole()[1:]], ["no-session"]),
    "no tokens": ([span(1, 0, AGENT), span(2, 1, without(CALL, "usage")), span(3, 1, TOOL)], ["no-tokens"]),
    "dropped": ([span(1, 0, AGENT, dropped_attributes=1), *whole()[1:]], ["dropped-attributes"]),
    "cut": ([span(1, 0, AGENT, cut=1), *whole()[1:]], ["cut-by-us"]),
    "redacted": (
        [*whole()[:2], span(3, 1, TOOL, status_code=STATUS_ERROR, status_message="Details are REDACTED.")],
        ["redacted-errors"],
    ),
    "a word like it": ([*whole()[:2], span(3, 1, TOOL, status_code=STATUS_ERROR, status_message="unredactedness")], []),
    "twins": ([*whole(), span(4, 3, TOOL, scope_name="other.scope")], ["twins"]),
    "an inner span of one instrumentation": ([*whole(), span(4, 3, TOOL)], []),
    "killed": ([span(2, 9, CALL), span(3, 9, TOOL)], ["no-root", "no-session"]),
    "a span in the middle": ([*whole(), span(5, 9, {})], ["lost-spans"]),
    "a remote parent": ([replace(whole()[0], parent_span_id=LOST, flags=0x300), *whole()[1:]], []),
    "a parent of this process": ([replace(whole()[0], parent_span_id=LOST, flags=0x100), *whole()[1:]], ["no-root"]),
    "never ended": ([*whole()[:2], span(3, 1, TOOL, pending=True)], ["never-ended"]),
    "tools without spans": (
        [
            span(1, 0, AGENT),
            span(2, 1, CALL),
            span(
                3,
                1,
                CALL
                | {
                    "gen_ai.input.messages": json.dumps(
                        [
                            *json.loads(SENT),
                            *json.loads(ASKED),
                            {
                                "role": "tool",
                                "parts": [{"type": "tool_call_response", "id": "c1", "response": "1230 km"}],
                            },
                        ]
                    ),
                    "gen_ai.output.messages": WROTE,
                },
            ),
        ],
        ["no-tool-spans"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_gap_is_named(name: str) -> None:
    """These gaps and no others, worst first."""
    spans, expected = CASES[name]
    assert kinds(built(spans)) == expected


def limited(spans: Sequence[Span], length: int) -> list[Span]:
    """As an SDK exports them whose values have so many characters at most."""
    return [replace(s, attributes={k: v[:length] for k, v in s.attributes.items()}) for s in spans]


def test_a_length_limit_of_the_sdk_is_named() -> None:
    """By values of one length, in several attributes, which are JSON that breaks off."""
    (gap,) = (gap for gap in diagnose([built(limited(whole(), 40))]).gaps if gap.kind == "cut-values")
    assert gap.what == "4 values have 40 characters and none has more; 4 are JSON that breaks off"
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in gap.remedies[0].do


LONG = {letter: json.dumps({"rows": [letter * 9] * 90}) for letter in "wxyz"}
CUT = {letter: text[:100] for letter, text in LONG.items()}


@pytest.mark.parametrize(
    "attributes",
    [
        [{"a": CUT["x"]}, {"b": LONG["y"][1:101]}, {"c": LONG["z"][2:102]}],
        [{"a": CUT["x"]}, {"b": CUT["y"]}],
        [{"a": CUT["x"]}, {"b": CUT["y"]}, {"a": CUT["z"]}, {"c": "longer" * 50}],
        [{"a": f"{{'w': '{'x' * 200}"[:100]}, {"b": f"{{'y': '{'x' * 200}"[:100]}, {"c": f"{{'z': '{'x' * 200}"[:100]}],
        [{"a": cut} for cut in CUT.values()],
    ],
    ids=["texts", "two", "a longer one", "another notation", "one attribute"],
)
def test_texts_that_a_program_cuts_are_no_limit_of_the_sdk(attributes: Sequence[Mapping[str, str]]) -> None:
    """It may cut what it likes, and divide texts into parts of one length."""
    assert "cut-values" not in kinds(built([span(n, n - 1, each) for n, each in enumerate(attributes, 1)]))


def test_of_an_open_trace_nothing_late_is_missed() -> None:
    """Roots come last, and a span that was announced may still end."""
    spans = [replace(whole()[0], parent_span_id=LOST), whole()[1], span(3, 1, TOOL, pending=True)]
    assert kinds(built(spans, TraceState.OPEN)) == []
    assert kinds(built(spans, TraceState.INCOMPLETE)) == ["no-root", "never-ended"]


def test_calls_outside_of_runs() -> None:
    """An LLM call beside the agent is a remark."""
    spans = [span(9, 0, {}), replace(whole()[0], parent_span_id=f"{9:016x}"), *whole()[1:], span(4, 9, CALL)]
    assert kinds(built(spans)) == ["calls-outside"]


def test_a_finding_of_several_traces_counts_them_together() -> None:
    """What one trace lacks and another has is not missing, but for roots."""
    second = [replace(s, trace_id=OTHER, attributes=without(s.attributes, "conversation")) for s in whole()]
    assert kinds(built(whole()), built(second)) == []
    rootless = [replace(second[0], parent_span_id=LOST), *second[1:]]
    (gap,) = diagnose([built(whole()), built(rootless)]).gaps
    assert (gap.kind, gap.what) == ("no-root", "in 1 of 2 traces 1 span under a parent that never came")


def test_links_to_other_traces() -> None:
    """A trace whose top is linked to one that it does not hold stands alone."""
    linked = [replace(whole()[0], links=(SpanLink(OTHER, LOST),)), *whole()[1:]]
    assert kinds(built(linked)) == ["linked-traces"]
    assert kinds(built([replace(whole()[0], links=(SpanLink(TRACE, LOST),)), *whole()[1:]])) == []


ASK = TOOL | genai(tool__name="ask_researcher")
ASKING = CALL | {"gen_ai.output.messages": ASKED.replace("search", "ask_researcher")}


@pytest.mark.parametrize(
    ("agent", "start", "end", "found"),
    [
        ("researcher", 3, 97, True),
        ("researcher", 2, 98, True),  # clocks differ
        ("researcher", 1.9, 97, False),
        ("researcher", 3, 98.1, False),
        ("writer", 3, 97, False),
        ("", 3, 97, False),
    ],
)
def test_a_sub_agent_in_a_trace_of_its_own(agent: str, start: float, end: float, found: bool) -> None:  # noqa: FBT001  a table
    """The call's name and its time tell, whether the other trace is examined too or only known by its row."""
    spans = [span(1, 0, AGENT), span(2, 1, ASKING), span(3, 1, ASK)]
    other = ExternalRun(OTHER, "remote", agent, START + int(start * SECOND), START + int(end * SECOND))
    gaps = diagnose([built(spans)], [other]).gaps
    assert [g.kind for g in gaps] == ["unlinked-agents"] * found
    assert all("of remote" in g.what for g in gaps)
    assert kinds(built(spans), elsewhere=[replace(other, trace_id=TRACE)]) == []


def test_agents_of_a_joined_trace_are_not_elsewhere() -> None:
    """One trace that stands for several holds them all."""
    spans = [span(1, 0, AGENT), span(2, 1, ASKING), span(3, 1, ASK)]
    researcher = [span(4, 0, AGENT | genai(agent__name="researcher"), trace_id=OTHER)]
    assert "unlinked-agents" in kinds(built(spans), built(researcher))
    assert "unlinked-agents" not in kinds(built(spans + researcher))


def test_severity_decides_what_is_a_gap() -> None:
    """LOW ones are remarks; the worst stand first."""
    found = diagnose([built([span(2, 9, without(CALL, "input", "output", "system")), span(3, 9, TOOL)])])
    ranks = [g.severity.rank for g in found.gaps]
    assert ranks == sorted(ranks, reverse=True)
    assert all(g.severity is not Severity.LOW for g in found.real_gaps)
    assert len(found.real_gaps) < len(found.gaps)


def test_nothing_at_all() -> None:
    """No trace: no gap, nothing found."""
    found = diagnose([])
    assert isinstance(found, Diagnosis)
    assert (found.gaps, found.agents, found.spans) == ((), (), 0)


def test_hostile_spans() -> None:
    """Names and values of any kind neither raise nor grow what is told."""
    spans = [
        span(n, n - 1, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "\x1b[2J" * 1000}, name="x" * 9999)
        for n in range(1, 9)
    ]
    found = diagnose([built(spans)])
    assert all(len(g.what) < 200 and len(g.span_ids) <= 3 for g in found.gaps)
