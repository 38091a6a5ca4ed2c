"""Sessions that are played: their spans, what goes with a request, and agents that do not answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from chat_server import HEAD, chat_server, completion
from llm_scripts import Play
from llm_server import llm_server
from opentelemetry import baggage, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracejury.collector.simulation.callable_agent import CallableAgent
from tracejury.collector.simulation.chat_endpoint import ChatEndpoint
from tracejury.collector.simulation.player import PlayedSession, play
from tracejury.collector.simulation.simulated_session import SimulatedSession, sessions_of
from tracejury.collector.simulation.talking_agent import MOST_ANSWERED, TalkingAgent
from tracejury.collector.simulation.users import ScriptedUser
from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.judges.packs.cards.user_turns import Behaviour

Messages = Sequence[Mapping[str, str]]
CARD = TaskCard.model_validate({"id": "Ü, 7", "user_turns": {"ideal": ["A", "B"], "goal-switching": ["C", "D"]}})
NEVER = 0.2  # seconds for an agent that never answers


class Spans:
    """What was exported."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test")

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def attributes(self) -> list[dict[str, Any]]:
        """Those of each span."""
        return [dict(span.attributes or {}) for span in self.all]


@pytest.fixture
def spans() -> Spans:
    return Spans()


def scripted(session: SimulatedSession) -> ScriptedUser:
    return ScriptedUser(session.turns)


async def played(
    agent: TalkingAgent | Callable[..., Any],
    spans: Spans,
    behaviours: Sequence[Behaviour] = (Behaviour.IDEAL,),
    trials: int = 1,
    **settings: Any,
) -> list[PlayedSession]:
    """The sessions of the card with this agent."""
    found: list[PlayedSession] = []
    talked_to = agent if isinstance(agent, ChatEndpoint) else CallableAgent(agent)  # type: ignore[arg-type]
    await play(sessions_of([CARD], behaviours, trials), scripted, talked_to, spans.tracer, found.append, **settings)
    return found


def told(found: Iterable[PlayedSession]) -> list[tuple[int, str]]:
    return [(one.answered, one.failure) for one in found]


def test_each_user_of_each_card_has_a_session_a_trial() -> None:
    """All users have spoken once before a second trial begins; a behaviour that a card lacks is left out."""
    sessions = sessions_of([CARD, TaskCard(id="bare")], [*Behaviour][:5], 2)
    assert [(s.task, s.behaviour, s.trial, s.turns) for s in sessions] == [
        ("Ü, 7", behaviour, trial, turns)
        for trial in (1, 2)
        for behaviour, turns in ((Behaviour.IDEAL, ("A", "B")), (Behaviour.GOAL_SWITCHING, ("C", "D")))
    ]
    assert len({s.session_id for s in sessions}) == 4


async def test_an_exchange_is_a_trace_that_names_its_session_and_what_was_said(spans: Spans) -> None:
    """The agent's spans hang below ours; the last exchange ends the session."""
    heard: list[Messages] = []

    def agent(messages: Messages) -> str:
        heard.append(messages)
        with spans.tracer.start_as_current_span("work", attributes=dict(baggage.get_all())):  # type: ignore[arg-type]
            return f"{messages[-1]['content']}!"

    (one,) = await played(agent, spans)
    assert told([one]) == [(2, "")]
    assert heard[1] == [
        {"role": "user", "content": "A"}, {"role": "assistant", "content": "A!"}, {"role": "user", "content": "B"}
    ]  # fmt: skip
    named = {
        "session.id": one.session.session_id, "tracejury.task.id": "Ü, 7", "tracejury.trial": 1,
        "tracejury.behaviour": "ideal", "tracejury.simulated": True,
    }  # fmt: skip
    roots = [span for span in spans.all if span.parent is None]
    assert len({span.context.trace_id for span in roots if span.context}) == len(roots) == 2
    for root, said in zip(roots, "AB", strict=True):
        found = dict(root.attributes or {})
        (asked,), (answer,) = (json.loads(str(found[f"gen_ai.{side}.messages"])) for side in ("input", "output"))
        assert (asked["role"], asked["parts"]) == ("user", [{"type": "text", "content": said}])
        assert (answer["role"], answer["parts"]) == ("assistant", [{"type": "text", "content": f"{said}!"}])
        assert named.items() <= found.items()
        assert found.get("tracejury.session.end") == (True if said == "B" else None)
    below = [span for span in spans.all if span.parent is not None]
    assert [span.parent and span.parent.span_id for span in below] == [r.context and r.context.span_id for r in roots]
    as_text = {key: "true" if value is True else str(value) for key, value in named.items()}
    assert [dict(span.attributes or {}) for span in below] == [as_text] * 2


def _handed_on(agent: Callable[..., Any], messages: Messages) -> Any:
    return agent(messages)


async def test_a_coroutine_has_the_context_and_one_event_loop(spans: Spans) -> None:
    """Its clients may keep connections from one answer to the next."""
    loops = set()

    async def agent(messages: Messages) -> str:
        await asyncio.sleep(0)
        loops.add(asyncio.get_running_loop())
        assert trace.get_current_span().get_span_context().is_valid
        return str(baggage.get_baggage("tracejury.behaviour")) + messages[0]["content"]

    for function in (agent, partial(_handed_on, agent)):
        assert told(await played(function, spans)) == [(2, "")]
    assert len(loops) == 2  # one an agent


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        {"role": "assistant", "content": "yes"},
        {"content": [{"type": "text", "text": "ye"}, {"type": "image"}, "s"]},
        SimpleNamespace(content="yes"),
    ],
)
async def test_an_answer_is_text_or_a_message(spans: Spans, answer: object) -> None:
    """As frameworks write messages."""
    assert told(await played(lambda _: answer, spans)) == [(2, "")]
    assert all('"content": "yes"' in found["gen_ai.output.messages"] for found in spans.attributes())


async def test_an_answer_that_cannot_be_encoded_is_sent_all_the_same(spans: Spans) -> None:
    """Lone surrogates."""
    assert told(await played(lambda _: "a\ud800b", spans)) == [(2, "")]
    assert all('"content": "a?b"' in found["gen_ai.output.messages"] for found in spans.attributes())


def broken(_: Messages) -> str:
    raise SystemExit("I leave")


def blocked(_: Messages) -> str:
    threading.Event().wait()
    return "never"


async def asleep(_: Messages) -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (broken, "SystemExit: I leave"),
        (lambda _: None, "the answer is no text but NoneType"),
        (lambda _: "  ", "the answer is empty"),
        (lambda _: "x" * (MOST_ANSWERED + 1), "the answer is longer than 1,000,000 characters"),
        (lambda m: {}[m[0]["content"] + "\ud800"], "KeyError: 'A\\ud800'"),
        (lambda m: m[7], "IndexError: list index out of range"),
        (lambda _: iter("abc"), "the answer is no text but str_ascii_iterator"),
        (blocked, "no answer within 0.2 s"),
        (asleep, "no answer within 0.2 s"),
    ],
)
async def test_a_callable_that_does_not_answer_fails_its_session_alone(
    spans: Spans, agent: Callable[..., Any], why: str
) -> None:
    """The session ends, without another try, and says so on its span; the next one goes on."""
    calls = itertools.count()

    def once(messages: Messages) -> Any:
        return agent(messages) if next(calls) == 1 else "fine"

    found = await played(once, spans, [*Behaviour], timeout=NEVER)
    assert told(found) == [(1, why), (2, "")]
    failed = spans.attributes()[1]
    assert failed["tracejury.session.end"] is True
    assert "gen_ai.output.messages" not in failed
    assert [span.status.description for span in spans.all] == [None, why, None, None]


async def test_a_coroutine_that_blocks_its_event_loop_fails_its_session_alone(
    spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others get a new one."""
    monkeypatch.setattr("tracejury.collector.simulation.callable_agent._RESPONDS", NEVER)

    async def agent(messages: Messages) -> str:
        return blocked(messages) if messages[-1]["content"] == "B" else "yes"

    found = await played(agent, spans, [*Behaviour], timeout=1.0)
    assert told(found) == [(1, "no answer within 1 s"), (2, "")]


async def test_messages_go_to_an_endpoint_with_the_context(spans: Spans) -> None:
    """Whatever the environment says of propagators; model and key where they are given."""
    async with chat_server(lambda: [completion("yes")]) as server:
        (one,) = await played(ChatEndpoint(server.url, "m", "sk-1"), spans)
        assert told([one]) == [(2, "")]
        assert told(await played(ChatEndpoint(f"{server.url}/"), spans)) == [(2, "")]
    (headers, body), (_, second), (bare, without), _ = server.requests
    assert body == {"model": "m", "messages": [{"role": "user", "content": "A"}]}
    assert [message["content"] for message in second["messages"]] == ["A", "yes", "B"]
    root = spans.all[0].context
    assert root is not None
    assert headers["traceparent"].split("-")[1:3] == [f"{root.trace_id:032x}", f"{root.span_id:016x}"]
    assert f"session.id={one.session.session_id}" in headers["baggage"]
    assert "tracejury.simulated=true" in headers["baggage"]
    assert "tracejury.task.id=%c3%9c%2c+7" in headers["baggage"]
    assert headers["authorization"] == "bearer sk-1"
    assert "authorization" not in bare
    assert "model" not in without


def endless() -> Iterator[bytes]:
    yield HEAD
    yield from itertools.repeat(b"x" * 65_536)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (endless, "the reply is longer than 1,000,000 bytes"),
        (list, "RemoteProtocolError: Server disconnected without sending a response."),
        (lambda: [HEAD, b"data: {}\n\n"], "the reply is no chat completion (choices[0].message)"),
        (lambda: [HEAD, b"[" * 100_000], "the reply is no chat completion (choices[0].message)"),
        (
            lambda: [HEAD, b'{"choices": [{"message": {"content": "\\ud800"}}]}'],
            "the reply is no chat completion (choices[0].message)",
        ),
        (lambda: [HEAD, b'{"choices": []}'], "the reply is no chat completion (choices[0].message)"),
        (lambda: [completion(None)], "the answer is no text but NoneType"),
        (lambda: [b"HTTP/1.1 503 Down\r\nContent-Length: 4\r\n\r\nbusy"], "HTTP 503: busy"),
    ],
)
async def test_an_endpoint_that_does_not_answer_fails_its_session(
    spans: Spans, reply: Callable[[], Iterable[bytes]], why: str
) -> None:
    """Each of them."""
    async with chat_server(reply) as server:
        assert told(await played(ChatEndpoint(server.url), spans)) == [(0, why)]
    assert len(server.requests) == 1


async def test_an_endpoint_that_is_down_or_stalls(spans: Spans) -> None:
    """Sessions beside it go on."""
    with llm_server(lambda call: Play(stall="C" in call.prompt), keep=True) as server:
        agent = ChatEndpoint(server.base, "m")
        found = await played(agent, spans, [*Behaviour], timeout=NEVER, at_once=2)
        assert sorted(told(found)) == [(0, "no answer within 0.2 s"), (2, "")]
    assert told(await played(agent, spans)) == [(0, "ConnectError: All connection attempts failed")]


async def test_sessions_side_by_side_are_bounded(spans: Spans) -> None:
    """Two of four are in flight."""
    both = threading.Barrier(2)

    def agent(_: Messages) -> str:
        both.wait(60)  # breaks where it is alone
        return "yes"

    assert told(await played(agent, spans, trials=4, at_once=2)) == [(2, "")] * 4
    with llm_server() as server:
        assert told(await played(ChatEndpoint(server.base, "m"), spans, trials=4, at_once=2)) == [(2, "")] * 4
        assert server.counts.most_at_once <= 2


async def test_what_was_said_is_kept_when_it_is_cancelled(spans: Spans) -> None:
    """The session in flight is told as interrupted, and does not end; none begins after it."""
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()
    found: list[PlayedSession] = []

    async def agent(messages: Messages) -> str:
        if messages[0]["content"] == "C":
            loop.call_soon_threadsafe(begun.set)
            await asyncio.Event().wait()
        return "yes"

    sessions = sessions_of([CARD], [*Behaviour], 2)
    playing = asyncio.create_task(play(sessions, scripted, CallableAgent(agent), spans.tracer, found.append))
    await begun.wait()
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert [(one.session, one.answered, one.failure) for one in found] == [
        (sessions[0], 2, ""), (sessions[1], 0, "interrupted")
    ]  # fmt: skip
    assert [found.get("tracejury.session.end") for found in spans.attributes()] == [None, True, None]


def test_a_session_says_its_baggage_as_text() -> None:
    """Attributes keep their types."""
    session = SimulatedSession("t", Behaviour.IDEAL, 2, ("A",), "s")
    assert session.attributes["tracejury.trial"] == 2
    assert session.attributes["tracejury.simulated"] is True
