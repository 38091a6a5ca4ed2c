"""The one line at a service's first trace."""

from __future__ import annotations

import pytest

from tracejury.collector.judging.detect.hints import first_trace_line
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import Span

TRACE = "a" * 32
KIND = "openinference.span.kind"
AGENT = {KIND: "AGENT", "agent.name": "helper", "input.value": "hi", "output.value": "hello"}
SAID = {
    KIND: "LLM",
    "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "hi",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "hello",
}
CALLED = {KIND: "TOOL", "tool.name": "search", "input.value": '{"q": "x"}', "output.value": "found"}
SCHEMA = {"tool.parameters": '{"type": "object", "properties": {"q": {"type": "string"}}}'}
GENAI_CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


def line(*attributes: dict[str, str], root: bool = True, service: str = "shop") -> str:
    first = "" if root else "f" * 16
    spans = [
        Span(TRACE, f"{n:016x}", f"{0:016x}" if n else first, "s", n, n + 1, a, service=service)
        for n, a in enumerate(attributes)
    ]
    return first_trace_line(rebuild([normalize(s) for s in spans]))


def test_a_complete_trace() -> None:
    """What was recognised, and that nothing is missing; remarks (no session, no tokens) stay with the doctor."""
    assert line(AGENT, SAID, CALLED | SCHEMA) == (
        "service shop: convention openinference; agents: helper; missing: nothing"
    )


@pytest.mark.parametrize(
    ("attributes", "part"),
    [
        (({KIND: "CHAIN"}, SAID), "no agent spans (instrument the agent framework"),
        ((AGENT,), "no LLM spans (instrument the LLM client"),
        ((AGENT, {KIND: "LLM"}), "no message content (unset OPENINFERENCE_HIDE_INPUTS"),
        (({}, GENAI_CALL), "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        ((AGENT, SAID, {KIND: "TOOL", "tool.name": "search"}), "without arguments or results (unset OPENINFERENCE_HI"),
        ((AGENT, SAID, CALLED), "no tool schemas"),
        (({"gen_ai.operation.name": "create_agent"},), "no agent at work (look at a trace in which"),
        (({"http.method": "GET"},), "convention none recognised"),
    ],
)
def test_what_is_missing_and_what_mends_it(attributes: tuple[dict[str, str], ...], part: str) -> None:
    """Each gap is named with its first remedy."""
    assert part in line(*attributes)


def test_a_root_that_never_came() -> None:
    """A script that exits before its flush loses the root."""
    assert "the root span never came (a script that ends: `provider.force_flush()`" in line(AGENT, SAID, root=False)
    assert "root span" not in line(AGENT, SAID)


def test_names_are_the_senders() -> None:
    """Line breaks and megabytes in them make neither another line of the log nor a long one."""
    hostile = "shop\n2026-01-01 00:00:00 INFO all is well\r\x1b[2J" + "x" * 1_000_000
    told = line({KIND: "AGENT", "agent.name": hostile}, SAID, service=hostile)
    assert told.splitlines() == [told]
    assert told.isprintable()
    assert len(told) < 1000


def test_of_many_agents_the_first_are_named() -> None:
    """The rest are counted."""
    told = line(*({KIND: "AGENT", "agent.name": f"a{n}"} for n in range(13)))
    assert "agents: a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, 3 more; missing" in told
