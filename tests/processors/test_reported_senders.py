"""Shapes of telemetry that senders document or that were reported in public: what a user of each expects to see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from trajectories import fixture_spans, normalise_all

from tracejury.judges.registry import default_suite
from tracejury.processors.collisions import SHARED_ID, apart
from tracejury.processors.joining import groups_of
from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import sum_tokens
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, Trace

_SUITE = default_suite()
_ASKED, _SAID = "How far is it from Bern to Thun?", "It is 31 km."
_PLACES = {"from": "Bern", "to": "Thun"}
_SECOND = 1_000_000_000

Entry = dict[str, Any]


def at(span_id: str, parent: str, when: tuple[float, float], attributes: Entry, **more: Any) -> Entry:
    """A span; `when` in seconds."""
    start, end = (int(t * _SECOND) for t in when)
    return {"id": span_id, "parent": parent, "start": start, "end": end, "attributes": attributes, **more}


def agent(name: str, **more: str) -> Entry:
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more}


def chat(sent: Sequence[Entry] = (), said: Entry | None = None) -> Entry:
    found: Entry = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-x"}
    found |= {"gen_ai.usage.input_tokens": 60, "gen_ai.usage.output_tokens": 9}
    if sent:
        found["gen_ai.input.messages"] = json.dumps(sent)
    if said:
        found["gen_ai.output.messages"] = json.dumps([said])
    return found


def user(text: str) -> Entry:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def words(text: str) -> Entry:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def asks(call_id: str, name: str, arguments: Entry) -> Entry:
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}]}


def gave(call_id: str, result: str) -> Entry:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": result}]}


def tool(name: str, call_id: str, arguments: Entry, result: str = "") -> Entry:
    found = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
    found |= {"gen_ai.tool.call.arguments": json.dumps(arguments)}
    return found | ({"gen_ai.tool.call.result": result} if result else {})


_TURN = [user(_ASKED), asks("c1", "distance", _PLACES)]
_FIRST, _LAST = chat(_TURN[:1], _TURN[1]), chat([*_TURN, gave("c1", "31 km")], words(_SAID))
_DISTANCE = tool("distance", "c1", _PLACES, "31 km")


def clerk(**of_the_agent: Any) -> list[Entry]:
    """An agent that asks for one call and answers."""
    return [
        at("ag", "", (0, 10), agent("clerk"), **of_the_agent),
        at("c1", "ag", (1, 2), _FIRST),
        at("t1", "ag", (2, 3), _DISTANCE),
        at("c2", "ag", (4, 5), _LAST),
    ]


def rebuilt(entries: Sequence[Entry], logs: Sequence[Entry] = ()) -> Trace:
    return rebuild(normalise_all(*fixture_spans({"spans": list(entries), "logs": list(logs)})))


def told(run: AgentRun) -> tuple[str, int, list[tuple[str, Any, str | None, str | None]], str]:
    """A run's name, its number of model calls, its tool calls (name, arguments, result, error) and its answer."""
    calls = [(c.name, c.arguments, c.result, c.error) for turn in run.turns for c in turn.tool_calls]
    return run.name, sum(turn.llm is not None for turn in run.turns), calls, run.answer


def severe(trace: Trace) -> list[str]:
    return [f.judge for f in _SUITE.judge(trace).findings if f.severity is not Severity.LOW and f.confidence >= 0.5]


def sub_agent(k: str, *, later_below: str, tools_below: str, content: bool = True) -> list[Entry]:
    """A tool `task` of the agent "boss" (span "ag") in which a helper works; what is below what, one may choose."""
    first = [{"role": "system", "parts": [{"type": "text", "content": "You help."}]}, user(f"Read {k}")]
    asked = asks(f"y{k}", "bash", {"command": f"cat {k}"})
    calls = [chat(first, asked), chat([*first, asked, gave(f"y{k}", "text")], words(f"{k} is fine"))]
    one, two = calls if content else (chat(), chat())
    return [
        at(f"t{k}", "ag", (2, 12), tool("task", f"x{k}", {"prompt": f"Read {k}"}, f"{k} is fine")),
        at(f"sub{k}", f"t{k}", (2.1, 11.9), agent("helper")),
        at(f"one{k}", f"sub{k}", (3, 4), one),
        at(f"b{k}", tools_below.format(k), (5, 6), tool("bash", f"y{k}", {"command": f"cat {k}"}, "text")),
        at(f"two{k}", later_below.format(k), (7, 8), two),
    ]


def boss(*names: str, content: bool = True, **places: str) -> list[Entry]:
    """An agent that starts a helper for each name."""
    parts = [p for k in names for p in asks(f"x{k}", "task", {"prompt": f"Read {k}"})["parts"]]
    sent = [user("Read all"), {"role": "assistant", "parts": parts}]
    later = [*sent, *(gave(f"x{k}", f"{k} is fine") for k in names)]
    one, two = (chat(sent[:1], sent[1]), chat(later, words("All is fine"))) if content else (chat(), chat())
    helpers = [e for k in names for e in sub_agent(k, content=content, **places)]
    return [at("ag", "", (0, 20), agent("boss")), at("m1", "ag", (1, 2), one), *helpers, at("m2", "ag", (13, 14), two)]


@pytest.mark.parametrize(
    ("names", "later", "tools"),
    [(("A",), "ag", "sub{}"), (("A",), "ag", "ag"), (("A",), "sub{}", "ag"), (("A", "B"), "ag", "ag")],
    ids=["calls beside", "all beside", "tools beside", "two sub-agents at once"],
)
def test_what_a_sub_agent_did_beside_itself_is_its_own(names: tuple[str, ...], later: str, tools: str) -> None:
    """Frameworks lose the context after a sub-agent's first step."""
    trace = rebuilt(boss(*names, later_below=later, tools_below=tools))
    tasks = [("task", {"prompt": f"Read {k}"}, f"{k} is fine", None) for k in names]
    helpers = [("helper", 2, [("bash", {"command": f"cat {k}"}, "text", None)], f"{k} is fine") for k in names]
    assert [told(run) for run in trace.runs if not run.parent_id] == [("boss", 2, tasks, "All is fine")]
    assert sorted((told(run) for run in trace.runs if run.parent_id), key=lambda h: h[3]) == helpers


def test_without_contents_the_call_in_a_waiting_tool_is_the_sub_agents() -> None:
    """A manager that waits for its tool asks its model nothing; nobody knows whose a tool is, so that it stays."""
    trace = rebuilt(boss("A", content=False, later_below="ag", tools_below="ag"))
    assert [(run.name, told(run)[1], len(told(run)[2])) for run in trace.runs] == [("boss", 2, 2), ("helper", 2, 0)]
    beside = [{**e, "parent": "ag"} if e["id"] == "subA" else e for e in boss("A", content=False, later_below="ag",
              tools_below="subA")]  # fmt: skip
    assert [told(run)[1] for run in rebuilt(beside).runs] == [3, 1]


@pytest.mark.parametrize(
    "raised",
    ["langgraph.errors.GraphInterrupt", "langgraph.errors.ParentCommand", "strands.InterruptException"],
)
def test_a_pause_for_a_person_is_no_failure(raised: str) -> None:
    """Neither of the call, nor of the spans around it."""
    event = {"name": "exception", "attributes": {"exception.type": raised, "exception.message": "(Interrupt(1),)"}}
    stopped = {"status": "error", "message": f"{raised.rpartition('.')[2]}((Interrupt(1),))", "events": [event]}
    entries = [*clerk(**stopped)[:2], at("t1", "ag", (2, 3), tool("distance", "c1", _PLACES), **stopped)]
    trace = rebuilt(entries)
    ((call,),) = (turn.tool_calls for turn in trace.runs[0].turns)
    assert (call.error, call.result, call.executed, trace.runs[0].status) == (None, None, None, "ok")
    assert severe(trace) == []
    broken = [{**e, "message": "ValueError", "events": []} if "status" in e else e for e in entries]
    assert rebuilt(broken).runs[0].status == "error"


@pytest.mark.parametrize("place", ["t1", "ag"])
def test_a_request_that_failed_once_is_no_error_of_a_run_that_went_on(place: str) -> None:
    """Tools and clients send requests again; a step of the program that failed is told."""
    failed = at("h1", place, (2.1, 2.2), {"http.request.method": "GET"}, kind=3, status="error", message="503")
    assert severe(rebuilt([*clerk(), failed])) == []
    step = at("s1", "t1", (2.1, 2.2), {}, status="error", message="Error: no such table")
    assert severe(rebuilt([*clerk(), step]))


def test_calls_of_one_time_are_in_the_order_of_their_conversation() -> None:
    """A clock of whole seconds, and ids that sort the other way."""
    entries = [{**e, "start": 0, "end": 0, "id": {"c1": "z", "c2": "a"}.get(e["id"], e["id"])} for e in clerk()]
    assert told(rebuilt(entries).runs[0]) == ("clerk", 2, [("distance", _PLACES, "31 km", None)], _SAID)


def test_two_spans_of_one_id_in_one_request_are_both_kept() -> None:
    """Whatever their order; versions of one span keep their id."""
    spans, _ = fixture_spans({"spans": [*clerk()[:3], {**clerk()[3], "id": "t1", "name": "chat"}]})
    kept = {(s.span_id, s.name): s for s in apart(spans)}
    assert kept == {(s.span_id, s.name): s for s in apart(spans[::-1])}
    assert [s.attributes[SHARED_ID] for s in kept.values() if SHARED_ID in s.attributes] == [spans[2].span_id]
    assert told(rebuild(normalise_all(kept.values())).runs[0])[1:] == (
        2, [("distance", _PLACES, "31 km", None)], _SAID,
    )  # fmt: skip
    versions, _ = fixture_spans({"spans": [*clerk(), {**clerk()[2], "end": 4 * _SECOND}]})
    assert list(apart(versions)) == versions


@pytest.mark.parametrize(
    ("reason", "judge"),
    [("max_iterations", "run-limit"), ("budget_exhausted", "run-limit"), ("tool_failure", "run-crashed"),
     ("completed", ""), ("handoff", ""), ("guardrail", "")],
)  # fmt: skip
def test_the_stated_reason_of_an_agents_end(reason: str, judge: str) -> None:
    """Proposed under several keys."""
    for key in ("gen_ai.agent.finish_reason", "agent.invocation.end_reason"):
        entries = [at("ag", "", (0, 10), agent("clerk", **{key: reason})), *clerk()[1:3]]
        assert severe(rebuilt(entries)) == ([judge] if judge else [])


def _azure(name: str, **content: Any) -> Entry:
    return {"name": f"gen_ai.{name}.message", "attributes": {"gen_ai.event.content": json.dumps(content)}}


_SENT = [
    ("a reply among the messages (Azure's agents)",
     [at("p", "", (0, 5), {"gen_ai.operation.name": "process_thread_run", "gen_ai.agent.name": "clerk",
         "gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 120, "gen_ai.usage.output_tokens": 18},
         events=[_azure("user", content=_ASKED, role="user"),
                 _azure("assistant", tool_calls=[{"id": "c1", "type": "function",
                        "function": {"name": "distance", "arguments": _PLACES}}]),
                 _azure("tool", content="31 km", id="c1"),
                 _azure("assistant", content={"text": {"value": _SAID}}, role="assistant")]),
      at("t", "p", (1, 2), {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "distance",
                            "gen_ai.tool.call.id": "c1"})],
     ("clerk", 1, [("distance", _PLACES, "31 km", None)], _SAID), (120, 18)),
    ("tools named in their spans' names (a plugin of opencode)",
     [at("s", "", (0, 9), {"session.id": "s1"}, name="opencode.session"),
      at("g", "s", (1, 2), {"gen_ai.system": "x", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 50,
                            "gen_ai.usage.output_tokens": 10}, name="gen_ai.chat", kind=3),
      at("b", "s", (3, 4), {"tool.name": "bash", "tool.error": "not found"}, name="opencode.tool bash", status="error",
         message="not found")],
     ("opencode.session", 1, [("bash", None, None, "not found")], ""), (50, 10)),
    ("a pipeline that retrieves (Haystack)",
     [at("p", "", (0, 9), {"haystack.pipeline.input_data": json.dumps({"r": {"query": _ASKED}, "b": {"q": _ASKED}}),
                           "haystack.pipeline.output_data": json.dumps({"llm": {"replies": [_SAID]}})},
         name="haystack.pipeline.run"),
      at("r", "p", (1, 2), {"haystack.component.name": "retriever", "haystack.component.type": "BM25Retriever",
         "haystack.component.input": json.dumps({"query": _ASKED}),
         "haystack.component.output": json.dumps({"documents": [{"content": "Bern - Thun: 31 km", "score": 1}]})},
         name="haystack.component.run"),
      at("l", "p", (3, 4), {"haystack.component.name": "llm", "haystack.component.type": "OpenAIGenerator",
         "haystack.component.input": json.dumps({"prompt": f"Bern - Thun: 31 km. {_ASKED}"}),
         "haystack.component.output": json.dumps({"replies": [_SAID], "meta": [{"model": "m", "usage":
             {"prompt_tokens": 20, "completion_tokens": 6}}]})}, name="haystack.component.run")],
     ("haystack.pipeline", 1, [("retriever", {"query": _ASKED}, "Bern - Thun: 31 km", None)], _SAID), (20, 6)),
    ("a decorated function's arguments (Langfuse)",
     [at("f", "", (0, 9), {"langfuse.observation.type": "span", "langfuse.observation.output": json.dumps(_SAID),
         "langfuse.observation.input": json.dumps({"args": [_ASKED], "kwargs": {}})}, name="answer"),
      at("g", "f", (1, 2), {"langfuse.observation.type": "generation", "langfuse.observation.model.name": "m",
         "langfuse.observation.input": json.dumps([{"role": "user", "content": f"Briefly. {_ASKED}"}]),
         "langfuse.observation.output": json.dumps({"role": "assistant", "content": _SAID}),
         "langfuse.observation.usage_details": json.dumps({"input": 7, "output": 3})})],
     ("answer", 1, [], _SAID), (7, 3)),
    ("functions that the client calls (Google's GenAI)",
     [at("g", "", (0, 5), {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m",
         "gen_ai.usage.input_tokens": 50, "gen_ai.usage.output_tokens": 10,
         "gen_ai.input.messages": json.dumps([user(_ASKED)]), "gen_ai.output.messages": json.dumps([words(_SAID)])}),
      at("t", "g", (1, 2), {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "distance",
         "code.function.parameters.from.value": "Bern", "code.function.parameters.to.value": "Thun",
         "code.function.return.value": "31 km"})],
     ("app", 1, [("distance", _PLACES, "31 km", None)], _SAID), (50, 10)),
    ("tokens of the response (Semantic Kernel)",
     [at("c", "", (0, 1), {"gen_ai.operation.name": "chat.completions", "gen_ai.system": "openai",
         "gen_ai.request.model": "m", "gen_ai.response.prompt_tokens": 50, "gen_ai.response.completion_tokens": 10,
         "gen_ai.input.messages": json.dumps([user(_ASKED)]), "gen_ai.output.messages": json.dumps([words(_SAID)])})],
     ("app", 1, [], _SAID), (50, 10)),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "run", "tokens"), [s[1:] for s in _SENT], ids=[s[0] for s in _SENT])
def test_what_senders_write_is_read(entries: list[Entry], run: tuple[Any, ...], tokens: tuple[int, int]) -> None:
    """One run, with the question as its goal where that is recorded."""
    trace = rebuilt(entries)
    (found,) = trace.runs
    sums = sum_tokens(trace.spans)
    assert (told(found), (sums.input_tokens, sums.output_tokens)) == (run, tokens)
    assert found.goal in (_ASKED, "")


def test_a_session_that_the_resource_states() -> None:
    """A program that is one session; what a span itself states counts more."""
    spans, _ = fixture_spans({"spans": clerk()})
    of_process = [replace(s, resource_attributes={"session.id": "of the process"}) for s in spans]
    assert rebuild(normalise_all(of_process)).session_id == "of the process"
    own = [replace(s, attributes={**s.attributes, "session.id": "own"}) for s in of_process]
    assert rebuild(normalise_all(own)).session_id == "own"


def test_a_tool_alone_in_its_trace_comes_to_the_call_that_gave_out_its_id() -> None:
    """Whatever session each states; a short id is not unique."""
    for call_id, traces in (("call_6d15e83c78554b99", 1), ("c1", 2)):
        asked = [at("m", "", (1, 2), chat(_TURN[:1], asks(call_id, "distance", _PLACES)) | {"session.id": "one"})]
        ran = [at("t", "", (2, 3), tool("distance", call_id, _PLACES, "31 km") | {"session.id": "two"})]
        found = {}
        for trace_id, entries in (("a" * 32, asked), ("b" * 32, ran)):
            spans, _ = fixture_spans({"spans": entries})
            found[trace_id] = normalise_all(replace(s, trace_id=trace_id) for s in spans)
        assert len(groups_of(found)) == traces
