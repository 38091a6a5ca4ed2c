"""Exchanges: each message of a person begins one; what harnesses write as users begins none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectories import FRAMEWORKS, SHARED, TRAIL, load, span

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan, ToolRequest
from tracejury.schemas.trajectory import Exchange, Trace

TASK = "Find out which of our three warehouses holds the most spare parts, and tell me its town."
STEPS = SHARED / "steps"


@dataclass(frozen=True)
class Step:
    """A message sent as a user, and the model's reply: words, or a call of that tool whose result comes back."""

    sent: str
    reply: str = ""
    tool: str = ""
    name: str = ""
    kept: bool = True  # the conversation keeps both


def conversation(steps: list[Step], *, resent: bool = True) -> Trace:
    """One agent span with one call a step, and one more where a tool was asked for; `resent`: whole histories."""
    spans = [NormalizedSpan(span("a" * 16, start=1, end=1_000), Kind.AGENT, "test", agent_name="assistant")]
    history: list[Message] = [Message("system", "You help customers of a shop.")]
    for number, step in enumerate(steps):
        before = history if step.kept else list(history)
        new = [Message("user", step.sent, name=step.name)]
        if step.tool:
            call = ToolRequest(step.tool, {"town": number}, f"c{number}")
            asked = Message("assistant", "", (call,))
            _call(spans, before, new, asked, resent=resent)
            new = [Message("tool", "7 parts", tool_call_id=call.call_id)]
        _call(spans, before, new, Message("assistant", step.reply), resent=resent)
    return rebuild(spans)


def _call(
    spans: list[NormalizedSpan], history: list[Message], new: list[Message], reply: Message, *, resent: bool
) -> None:
    sent = (*history, *new) if resent else tuple(new)
    history += [*new, reply]
    raw = span(f"{len(spans):016x}", "a" * 16, start=10 * len(spans), end=10 * len(spans) + 5)
    spans.append(NormalizedSpan(raw, Kind.LLM, "test", input_messages=sent, output_messages=(reply,)))


def asked(trace: Trace) -> list[str]:
    return [exchange.asked for exchange in trace.exchanges]


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "Zs")), min_size=1, max_size=30).filter(str.strip)
SAID = st.builds(Step, sent=WORDS, reply=WORDS, tool=st.sampled_from(["", "", "stock"]))


@pytest.mark.parametrize("resent", [True, False])
@given(steps=st.lists(SAID, min_size=1, max_size=6, unique_by=lambda s: s.sent.strip()))
@settings(max_examples=30, deadline=None)
def test_every_message_of_a_person_begins_an_exchange(steps: list[Step], *, resent: bool) -> None:
    """Whoever keeps the history; the exchanges cover all turns in order and end with what was answered."""
    found = conversation(steps, resent=resent).exchanges
    assert [e.asked for e in found] == [s.sent for s in steps]
    assert [e.answer for e in found] == [s.reply for s in steps]
    assert found[0].first == 0
    assert all(one.last + 1 == later.first for one, later in pairwise(found))
    assert found[-1].last == sum(1 + bool(s.tool) for s in steps) - 1


OPENING = Step(TASK, "I shall look at the three warehouses in turn.")


@pytest.mark.parametrize(
    "step",
    [
        Step(f"As a reminder, we work on this task:\n{TASK}\nWhat is next?", "The second warehouse."),
        Step("Which of you speaks next?", "The clerk.", name="assistant"),
    ],
    ids=["reminder", "another agent"],
)
def test_a_harness_that_writes_as_a_user_begins_none(step: Step) -> None:
    """Neither with what it writes nor by what is said to it."""
    assert asked(conversation([OPENING, step])) == [TASK]


@pytest.mark.parametrize(
    "reply",
    ['{"next_speaker": "clerk"}', '["look", "count"]', "", "   "],
    ids=["an object", "a list", "nothing", "blanks"],
)
def test_what_follows_words_that_are_not_for_the_user_begins_none(reply: str) -> None:
    """A program reads a structured reply; after none at all the harness asks again."""
    assert asked(conversation([replace(OPENING, reply=reply), Step("Go on.", "Oslo.")])) == [TASK]


CODE = "I count them.\n```python\nprint(count('Oslo'))\n```"


@pytest.mark.parametrize(
    "printed",
    ["exitcode: 0 (execution succeeded)\nCode output: 7", "Observation: 7", "<returncode>0</returncode>\n7",
     "Output:\n7", "Traceback (most recent call last):\n  ..."],
)  # fmt: skip
def test_the_result_of_a_code_block_begins_none(printed: str) -> None:
    """A harness that runs code hands back what it printed as a user; a person's words about the code do begin one."""
    said = [
        replace(OPENING, reply=CODE),
        Step(printed, "Oslo has 7."),
        Step("And how many has Bergen?", "Bergen has 2."),
    ]
    assert asked(conversation(said)) == [TASK, "And how many has Bergen?"]
    assert asked(conversation([replace(OPENING, reply=CODE), Step("Can you shorten it?", "I can.")])) == [
        TASK,
        "Can you shorten it?",
    ]


def test_a_prompt_that_the_conversation_does_not_keep_begins_none() -> None:
    """An orchestrator asks beside the conversation who is next; the next call knows nothing of it."""
    beside = Step("Is the request satisfied? Who is next?", "The clerk is next.", kept=False)
    said = [OPENING, beside, replace(beside, sent="Is it satisfied by now?")]
    assert asked(conversation(said)) == [TASK]


def test_a_run_without_turns_or_content_is_one_exchange() -> None:
    """Nothing is known of its words, so nothing divides it; a trace without runs has none."""
    agent = NormalizedSpan(span("a" * 16, start=1, end=9), Kind.AGENT, "test", agent_name="assistant")
    assert rebuild([agent]).exchanges == (Exchange("a" * 16, -1, -1, "", ""),)
    plain = NormalizedSpan(span("b" * 16, start=1, end=9), Kind.OTHER, "test")
    assert rebuild([plain]).exchanges == ()


def test_a_sub_agent_is_part_of_the_exchange_that_caused_it() -> None:
    """A run below another has no exchange of its own, and is found at the turn that called it."""
    trace = conversation([OPENING, Step("And Bergen?", "Two.", tool="stock"), Step("Thanks. And Oslo?", "Seven.")])
    call = next(c for c in trace.spans.values() if any(r.name == "stock" for r in c.tool_requests))
    raw = span("c" * 16, "a" * 16, start=call.raw.start + 1, end=call.raw.start + 4)
    tool = NormalizedSpan(raw, Kind.TOOL, "test", tool_name="stock", tool_call_id=call.tool_requests[0].call_id)
    clerk = NormalizedSpan(
        span("d" * 16, "c" * 16, start=call.raw.start + 2, end=call.raw.start + 3), Kind.AGENT, "t", agent_name="clerk"
    )
    whole = rebuild([*trace.spans.values(), tool, clerk])
    assert asked(whole) == [TASK, "And Bergen?", "Thanks. And Oslo?"]
    assert whole.exchange_by_run()["d" * 16].asked == "And Bergen?"


def one_run(trace: Trace) -> Trace:
    """The trace as a framework exports it that keeps one agent span for the whole conversation."""
    tops = [run.span for run in trace.runs if not run.parent_id and run.span is not None]
    first, ids = tops[0], {top.span_id for top in tops}
    whole = replace(first.raw, end=trace.end)
    spans = [replace(first, raw=whole, input_messages=(), output_messages=(), input_text="", output_text="")]
    for one in trace.spans.values():
        if one.span_id not in ids:
            parent = first.span_id if one.raw.parent_span_id in ids else one.raw.parent_span_id
            spans.append(replace(one, raw=replace(one.raw, parent_span_id=parent)))
    return rebuild(spans)


def nameless(trace: Trace) -> Trace:
    """The trace as instrumentation exports it that does not record who wrote a message."""
    plain = (
        replace(s, input_messages=tuple(replace(m, name="") for m in s.input_messages)) for s in trace.spans.values()
    )
    return rebuild(plain)


def traces_of(folder: Path) -> list[Trace]:
    if not folder.exists():
        pytest.skip("the shared traces are absent")
    return [rebuild(spans) for path in sorted(folder.iterdir()) for spans in load(path).values()]


@pytest.mark.parametrize("folder", ["tau-ok", "agentrx-tau"])
def test_conversations_in_one_run_divide_at_their_users_messages(folder: str) -> None:
    """The truth is known: the same conversations with one agent span for each message of the user."""
    for trace in traces_of(STEPS / folder / "traces"):
        goals = [run.goal for run in trace.runs if not run.parent_id]
        assert asked(trace) == goals
        assert asked(one_run(trace)) == goals


@pytest.mark.parametrize("folder", ["agentrx-magentic", "whowhen-hand", "whowhen-algorithm"])
def test_group_chats_of_one_question_are_one_exchange(folder: str) -> None:
    """With the names of those who write, and without."""
    for trace in traces_of(STEPS / folder / "traces"):
        assert len(trace.exchanges) == len(nameless(trace).exchanges) == 1, trace.trace_id


def test_trail_has_one_exchange_a_trace() -> None:
    """Plans, facts and observations of smolagents are written as a user."""
    assert Counter(len(trace.exchanges) for trace in traces_of(TRAIL)).keys() == {1}


def test_every_framework_has_one_exchange_a_manager() -> None:
    """In no capture does a person write again within a run."""
    if not FRAMEWORKS.exists():
        pytest.skip("the shared framework captures are absent")
    for path in sorted(FRAMEWORKS.glob("*/*.zip")):
        for spans in load(path).values():
            trace = rebuild(spans)
            managers = [run for run in trace.runs if not run.parent_id]
            assert asked(trace) == [run.goal for run in managers], path
