"""Three plain attributes name the agent, the agent that started it, and the task, whatever the convention."""

from __future__ import annotations

import pytest
from trajectories import span

from tracejury._sdk import names
from tracejury.processors.normalize import normalize, stated

PLAIN = {"tracejury.agent.name": "researcher", "tracejury.agent.parent": "manager", "tracejury.task.id": "t-1"}


@pytest.mark.parametrize(
    "marks",
    [
        {},
        {"openinference.span.kind": "LLM"},
        {"openinference.span.kind": "TOOL"},
        {"gen_ai.operation.name": "chat"},
        {"gen_ai.operation.name": "execute_tool"},
    ],
)
def test_they_are_read_on_spans_of_any_convention(marks: dict[str, str]) -> None:
    """An agent may be written in any language, with any instrumentation or none."""
    found = normalize(span("s", attributes=marks | PLAIN))
    assert (found.agent_name, found.agent_parent, found.task_id) == ("researcher", "manager", "t-1")


@pytest.mark.parametrize(
    ("marks", "name"),
    [
        ({"gen_ai.operation.name": "chat", "gen_ai.agent.name": "critic"}, "critic"),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "critic"}, "critic"),
        ({"openinference.span.kind": "AGENT", "agent.name": "critic"}, "critic"),
        ({"openinference.span.kind": "AGENT"}, ""),  # its name is its span's name: the attribute is the caller's
    ],
)
def test_the_name_that_the_convention_gives_outranks_theirs(marks: dict[str, str], name: str) -> None:
    """A framework's own agent inside a part of the program that has a name stays what it is; the task holds."""
    found = normalize(span("s", attributes=marks | PLAIN))
    assert (found.agent_name or found.agent_hint, found.task_id) == (name, "t-1")


def test_blank_values_say_nothing() -> None:
    """An empty or blank value is the same as none."""
    plain = normalize(span("s", attributes={"gen_ai.operation.name": "chat"}))
    blank = normalize(span("s", attributes={"gen_ai.operation.name": "chat", **dict.fromkeys(PLAIN, "  ")}))
    assert (blank.agent_name, blank.agent_parent, blank.task_id) == ("", "", "")
    assert plain.agent_name == blank.agent_name


def test_reader_and_writer_agree_on_the_keys() -> None:
    """The processor in the agent's process is installed without the reader: both hold the keys."""
    assert (stated.AGENT_NAME, stated.AGENT_PARENT, stated.TASK_ID) == (
        names.AGENT_NAME,
        names.AGENT_PARENT,
        names.TASK_ID,
    )
