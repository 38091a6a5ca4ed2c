"""Who is at work: carried through calls, threads, tasks and processes, and written on every span."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kept_spans import KeptSpans
from opentelemetry import context, propagate
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

from tracejury._sdk.identity import MOST, Identity, read, written
from tracejury.sdk import LiveProcessor, agent, carry, task

Started = Callable[..., tuple[TracerProvider, LiveProcessor]]


def said(span: ReadableSpan) -> tuple[object, ...]:
    """Agent, parent agent and task as they stand on a span."""
    attributes = span.attributes or {}
    return tuple(attributes.get(f"tracejury.{key}") for key in ("agent.name", "agent.parent", "task.id"))


def test_every_span_says_whose_it_is(started: Started, kept: KeptSpans) -> None:
    """Agent, the agent that started it, and task stand on all spans of a scope, announced or finished."""
    provider, processor = started()
    tracer = provider.get_tracer("t")
    with agent("manager", task_id="t-1", tracer_provider=provider):
        tracer.start_span("plan").end()
        with agent("researcher", tracer_provider=provider):
            searching = tracer.start_span("search")
            assert processor.force_flush()
            searching.end()
        tracer.start_span("answer").end()
    tracer.start_span("after").end()
    assert processor.force_flush()
    assert {span.name: said(span) for span in kept.ended} == {
        "invoke_agent manager": ("manager", None, "t-1"),
        "plan": ("manager", None, "t-1"),
        "invoke_agent researcher": ("researcher", "manager", "t-1"),
        "search": ("researcher", "manager", "t-1"),
        "answer": ("manager", None, "t-1"),
        "after": (None, None, None),
    }
    assert said(next(s for s in kept.announced if s.name == "search")) == ("researcher", "manager", "t-1")


def test_a_scope_opens_an_agent_span_unless_told_not_to(started: Started, kept: KeptSpans) -> None:
    """Programs without a framework get an agent span by the OpenTelemetry conventions; others keep theirs."""
    provider, processor = started()
    with agent("a", tracer_provider=provider), agent("b", span=False):
        provider.get_tracer("t").start_span("work").end()
    assert processor.force_flush()
    assert [span.name for span in kept.ended] == ["work", "invoke_agent a"]
    attributes = kept.one("invoke_agent a").attributes or {}
    assert (attributes["gen_ai.operation.name"], attributes["gen_ai.agent.name"]) == ("invoke_agent", "a")
    assert said(kept.one("work")) == ("b", "a", None)


def test_inside_a_frameworks_agent_only_the_task_is_written(started: Started, kept: KeptSpans) -> None:
    """What the program said around a framework must not rename the agents in it; a scope inside counts again."""
    provider, processor = started()
    tracer = provider.get_tracer("framework")
    mark = {"openinference.span.kind": "AGENT"}
    with task("t"), agent("crew", span=False):
        with tracer.start_as_current_span("r", attributes=mark), tracer.start_as_current_span("step"):
            tracer.start_span("chat").end()
            with agent("helper", span=False):
                tracer.start_span("own").end()
        tracer.start_span("outside").end()
    assert processor.force_flush()
    assert {span.name: said(span) for span in kept.ended} == {
        "r": (None, None, "t"),
        "step": (None, None, "t"),
        "chat": (None, None, "t"),
        "own": ("helper", "crew", "t"),
        "outside": ("crew", None, "t"),
    }


def test_an_error_marks_the_agents_span_and_leaves_the_scope(started: Started, kept: KeptSpans) -> None:
    """The program's exception goes on unchanged."""
    provider, processor = started()
    with pytest.raises(ZeroDivisionError), agent("a", tracer_provider=provider):
        raise ZeroDivisionError
    assert read() == Identity()
    assert processor.force_flush()
    assert [event.name for event in kept.one("invoke_agent a").events] == ["exception"]


async def test_tasks_at_once_do_not_mix(started: Started, kept: KeptSpans) -> None:
    """Two sub-agents that run at once on one event loop each have their own name, and the manager as parent."""
    provider, processor = started()
    tracer = provider.get_tracer("t")
    meet = asyncio.Barrier(2)

    async def run(name: str) -> None:
        async with agent(name, span=False):
            await meet.wait()
            tracer.start_span(f"work of {name}").end()
            await meet.wait()

    with agent("manager", task_id="t"):
        await asyncio.gather(run("a"), run("b"))
    assert processor.force_flush()
    assert said(kept.one("work of a")) == ("a", "manager", "t")
    assert said(kept.one("work of b")) == ("b", "manager", "t")


def test_threads_work_for_whoever_started_them(started: Started, kept: KeptSpans) -> None:
    """A thread starts in an empty context: `carry` takes it there, and leaves the thread as it was."""
    provider, processor = started()
    tracer = provider.get_tracer("t")

    def work(name: str) -> Identity:
        tracer.start_span(name).end()
        return read()

    with ThreadPoolExecutor(1) as pool:
        with agent("manager", span=False):
            assert pool.submit(carry(work), "carried").result().agent == "manager"
        assert pool.submit(work, "plain").result() == Identity()
    assert processor.force_flush()
    assert said(kept.one("carried")) == ("manager", None, None)
    assert said(kept.one("plain")) == (None, None, None)


async def test_functions_of_every_sort_can_be_an_agents(started: Started) -> None:
    """As a decorator a scope covers the whole of each call, also of coroutines and generators."""
    started()
    scope = agent("a", span=False)

    @scope
    def plain(x: int) -> tuple[int, str]:
        return x, read().agent

    @scope
    async def awaited() -> str:
        await asyncio.sleep(0)
        return read().agent

    @scope
    def yielded() -> Iterator[str]:
        yield read().agent
        yield read().agent

    @scope
    async def streamed() -> AsyncIterator[str]:
        yield read().agent

    assert plain(1) == (1, "a")
    assert plain.__name__ == "plain"
    assert [*await asyncio.gather(awaited(), awaited())] == ["a", "a"]
    assert [*yielded()] == ["a", "a"]
    assert [name async for name in streamed()] == ["a"]
    assert read() == Identity()


CHILD = """
import json, os
from opentelemetry import context, propagate
from tracejury._sdk.identity import read
from tracejury.sdk import agent
context.attach(propagate.extract(json.loads(os.environ["CARRIER"])))
with agent("worker", span=False) as identity:
    print(json.dumps(identity))
"""


def test_another_process_goes_on_with_it() -> None:
    """OpenTelemetry's own propagators take agent and task along: in headers, or in a variable as here."""
    carrier: dict[str, str] = {}
    with agent("manäger, first; of =two", task_id="t/1", span=False):
        propagate.inject(carrier)
    found = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", CHILD], env={"CARRIER": json.dumps(carrier)}, capture_output=True, text=True, check=True
    )
    assert json.loads(found.stdout) == ["worker", "manäger, first; of =two", "t/1"]


@given(st.builds(Identity, st.text(max_size=600), st.text(max_size=600), st.text(max_size=600)))
def test_what_is_written_is_read(identity: Identity) -> None:
    """Any text survives the context, up to the limit on its length."""
    assert read(written(identity, context.Context())) == Identity(*(value[:MOST] for value in identity))
