"""Agents that plan in many ways and languages, and agents that do not, as four frameworks' telemetry records them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import Trace, TraceState

TASK = "Is the blender still under warranty?"
FOUND = "It was bought on 3 May; the warranty is two years."
TOOLS = ("search", "read_file")
_SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}

Attributes = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One LLM call: its words and thinking, and the tool calls that it asks for, each with the same result.

    `asked`: what a user wrote before it.
    """

    text: str = ""
    thinks: str = ""
    tools: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    asked: str = ""


SEARCH = ("search", {"q": "blender"})
ANSWER = Call("Yes, it is.")


def todo(**states: str) -> tuple[str, Mapping[str, Any]]:
    """A call of a to-do tool: each item with its state."""
    return "TodoWrite", {"todos": [{"content": text.replace("_", " "), "status": s} for text, s in states.items()]}


def _acting(text: str = "", thinks: str = "", *tools: tuple[str, Mapping[str, Any]]) -> tuple[Call, ...]:
    return Call(text, thinks, tools or (SEARCH,)), ANSWER


PLANNERS: Mapping[str, tuple[str, tuple[Call, ...]]] = {
    "prose": (
        "First I search the manual",
        _acting("First I search the manual, then check the warranty, then I answer."),
    ),
    "announced list": ("2. check", _acting("I will:\n1. search the manual\n2. check the warranty")),
    "labelled": ("## Plan", _acting("## Plan\n- search the manual\n- check the warranty")),
    "checklist": ("- [ ] check", _acting("- [ ] search the manual\n- [ ] check the warranty")),
    "German numbers": ("2. Garantie", _acting("1. Im Handbuch suchen\n2. Garantie prüfen\n3. Antworten")),
    "German thinking": ("danach prüfe", _acting("", "Zuerst suche ich im Handbuch, danach prüfe ich die Garantie.")),
    "Spanish prose": (
        "después miro",
        _acting("Primero busco el manual, después miro la garantía y al final respondo."),
    ),
    "to-do tool": (
        "check the warranty",
        _acting("", "", todo(search_the_manual="pending", check_the_warranty="pending")),
    ),
    "Spanish tool": (
        "mirar la garant",
        _acting("", "", ("planificar", {"pasos": ["buscar el manual", "mirar la garantía"]})),
    ),
    "plan in a file": (
        "[ ] check",
        _acting("", "", ("write_file", {"path": "a.md", "text": "- [ ] search\n- [ ] check"})),
    ),
    "German call of its own": ("dann die Garantie", (Call("Erst das Handbuch, dann die Garantie."), *_acting())),
    "after a silent look": (
        "then the receipt",
        (Call(tools=(SEARCH,)), *_acting("I know now. " * 16 + "First the manual, then the receipt.")),
    ),
}
"""Way to words of the plan and the agent's calls; every agent has the tools `TOOLS`."""

IDLERS: Mapping[str, tuple[bool, tuple[Call, ...]]] = {
    "says what it does next": (True, _acting("Let me search.")),
    "tells what it found": (True, (Call("Das Gerät steht im Katalog.", tools=(SEARCH,)), *_acting("Nun der Beleg."))),
    "only calls": (False, (Call(tools=(SEARCH,)), Call(tools=(SEARCH,)), ANSWER)),
    "answers at once": (False, (ANSWER,)),
    "says little after silent calls": (False, (Call(tools=(SEARCH,)), *_acting("Ahora la garantía."))),
    "only talks": (False, (Call("¡Hola! ¿En qué puedo ayudar?"), Call("De nada.", asked="Gracias"))),
}
"""Kind to whether it is asked where its plan is, and its calls; those of `UNEQUIPPED` have no tools."""
UNEQUIPPED = frozenset({"only talks"})


def recorded(shape: str, calls: Sequence[Call], *, tools: Sequence[str] = TOOLS) -> Trace:
    """The agent's run as instrumentation of that shape exports it."""
    write = SHAPES[shape]
    answer = calls[-1].text
    spans = [{"id": "run", "name": "invoke_agent helper", "end": 900, "attributes": write.agent(answer)}]
    sent: list[Attributes] = [{"role": "user", "content": TASK}]
    for number, call in enumerate(calls):
        sent += [{"role": "user", "content": call.asked}] if call.asked else []
        asks = [(f"c{number}{i}", name, given) for i, (name, given) in enumerate(call.tools)]
        start = 10 * number + 1
        llm = write.llm(sent, call, asks, tools)
        spans.append(_span(f"l{number}", write.call, start, llm))
        for at, (identity, name, given) in enumerate(asks, 3):
            done = write.tool(identity, name, json.dumps(given))
            spans.append(_span(identity, f"execute_tool {name}", start + at, done))
        sent += [{"role": "assistant", "content": call.text, "asks": asks}]
        sent += [{"role": "tool", "content": FOUND, "of": identity, "name": name} for identity, name, _ in asks]
    stored, logs = fixture_spans({"spans": spans})
    return rebuild(normalise_all(stored, logs), state=TraceState.SETTLED)


def _span(identity: str, name: str, start: int, attributes: Attributes) -> dict[str, Any]:
    return {"id": identity, "parent": "run", "name": name, "start": start, "end": start + 1, "attributes": attributes}


Asks = Sequence[tuple[str, str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Shape:
    """How one convention writes an agent, an LLM call (named `call`) and a tool call."""

    call: str
    agent: Callable[[str], Attributes]
    llm: Callable[[Sequence[Attributes], Call, Asks, Sequence[str]], Attributes]
    tool: Callable[[str, str, str], Attributes]


def _openinference(sent: Sequence[Attributes], call: Call, asks: Asks, tools: Sequence[str]) -> Attributes:
    found: Attributes = {"openinference.span.kind": "LLM"}
    for n, message in enumerate(sent):
        at = f"llm.input_messages.{n}.message"
        found |= {f"{at}.role": message["role"], f"{at}.content": message["content"]}
        found |= {f"{at}.tool_call_id": message["of"]} if "of" in message else {}
        found |= _oi_calls(at, message.get("asks", ()))
    at = "llm.output_messages.0.message"
    parts = [(kind, text) for kind, text in (("reasoning", call.thinks), ("text", call.text)) if text]
    for n, (kind, text) in enumerate(parts):
        found |= {f"{at}.contents.{n}.message_content.type": kind, f"{at}.contents.{n}.message_content.text": text}
    for n, name in enumerate(tools):
        found[f"llm.tools.{n}.tool.json_schema"] = json.dumps({"function": {"name": name, "parameters": _SCHEMA}})
    return found | {f"{at}.role": "assistant"} | _oi_calls(at, asks)


def _oi_calls(at: str, asks: Asks) -> Attributes:
    found: Attributes = {}
    for n, (identity, name, given) in enumerate(asks):
        call = f"{at}.tool_calls.{n}.tool_call"
        found |= {
            f"{call}.id": identity,
            f"{call}.function.name": name,
            f"{call}.function.arguments": json.dumps(given),
        }
    return found


def _genai(sent: Sequence[Attributes], call: Call, asks: Asks, tools: Sequence[str]) -> Attributes:
    def parts(text: str, thinks: str, asked: Asks) -> list[Attributes]:
        told = [{"type": "reasoning", "content": thinks}] if thinks else []
        told += [{"type": "text", "content": text}] if text else []
        return told + [{"type": "tool_call", "id": i, "name": name, "arguments": given} for i, name, given in asked]

    given = [
        {"role": m["role"], "parts": [{"type": "tool_call_response", "id": m["of"], "result": m["content"]}]}
        if "of" in m
        else {"role": m["role"], "parts": parts(m["content"], "", m.get("asks", ()))}
        for m in sent
    ]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts(call.text, call.thinks, asks)}]),
        "gen_ai.tool.definitions": json.dumps(
            [{"type": "function", "name": name, "parameters": _SCHEMA} for name in tools]
        ),
    }


def _openllmetry(sent: Sequence[Attributes], call: Call, asks: Asks, tools: Sequence[str]) -> Attributes:
    found: Attributes = {"llm.request.type": "chat", "gen_ai.completion.0.role": "assistant"}
    written = {"content": call.text, "reasoning": call.thinks}
    for at, message in [(f"gen_ai.prompt.{n}", m) for n, m in enumerate(sent)]:
        found |= {f"{at}.role": message["role"], f"{at}.content": message["content"]}
        found |= {f"{at}.tool_call_id": message["of"]} if "of" in message else {}
        found |= _flat_calls(at, message.get("asks", ()))
    found |= {f"gen_ai.completion.0.{key}": text for key, text in written.items() if text}
    for n, name in enumerate(tools):
        found |= {f"llm.request.functions.{n}.name": name, f"llm.request.functions.{n}.parameters": json.dumps(_SCHEMA)}
    return found | _flat_calls("gen_ai.completion.0", asks)


def _flat_calls(at: str, asks: Asks) -> Attributes:
    found: Attributes = {}
    for n, (identity, name, given) in enumerate(asks):
        call = f"{at}.tool_calls.{n}"
        found |= {f"{call}.id": identity, f"{call}.name": name, f"{call}.arguments": json.dumps(given)}
    return found


def _vercel(sent: Sequence[Attributes], call: Call, asks: Asks, tools: Sequence[str]) -> Attributes:
    def content(message: Attributes) -> object:
        if "of" in message:
            of = {"toolCallId": message["of"], "toolName": message["name"]}
            return [{"type": "tool-result", **of, "output": {"type": "text", "value": message["content"]}}]
        told: list[Attributes] = [{"type": "text", "text": message["content"]}] if message["content"] else []
        asked = message.get("asks", ())
        return told + [{"type": "tool-call", "toolCallId": i, "toolName": n, "input": g} for i, n, g in asked]

    found: Attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": json.dumps([{"role": m["role"], "content": content(m)} for m in sent]),
        "ai.prompt.tools": [json.dumps({"type": "function", "name": n, "inputSchema": _SCHEMA}) for n in tools],
    }
    requests = [{"toolCallId": i, "toolName": name, "input": json.dumps(given)} for i, name, given in asks]
    written = {"text": call.text, "reasoning": call.thinks, "toolCalls": json.dumps(requests) if requests else ""}
    return found | {f"ai.response.{key}": text for key, text in written.items() if text}


SHAPES: Mapping[str, Shape] = {
    "openinference": Shape(
        "ChatCompletion",
        lambda answer: {"openinference.span.kind": "AGENT", "input.value": TASK, "output.value": answer},
        _openinference,
        lambda _, name, given: {
            "openinference.span.kind": "TOOL",
            "tool.name": name,
            "input.value": given,
            "output.value": FOUND,
        },
    ),
    "genai": Shape(
        "chat m-1",
        lambda _: {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
        _genai,
        lambda identity, name, given: {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": identity,
            "gen_ai.tool.call.arguments": given,
            "gen_ai.tool.call.result": FOUND,
        },
    ),
    "openllmetry": Shape(
        "openai.chat",
        lambda answer: {
            "traceloop.span.kind": "agent",
            "traceloop.entity.name": "helper",
            "traceloop.entity.input": json.dumps({"args": [TASK], "kwargs": {}}),
            "traceloop.entity.output": json.dumps(answer),
        },
        _openllmetry,
        lambda _, name, given: {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": name,
            "traceloop.entity.input": json.dumps({"args": [], "kwargs": json.loads(given)}),
            "traceloop.entity.output": json.dumps(FOUND),
        },
    ),
    "vercel": Shape(
        "ai.generateText.doGenerate",
        lambda answer: {
            "ai.operationId": "ai.generateText",
            "ai.telemetry.functionId": "helper",
            "ai.prompt": json.dumps({"prompt": TASK}),
            "ai.response.text": answer,
        },
        _vercel,
        lambda identity, name, given: {
            "ai.operationId": "ai.toolCall",
            "ai.toolCall.name": name,
            "ai.toolCall.id": identity,
            "ai.toolCall.args": given,
            "ai.toolCall.result": json.dumps(FOUND),
        },
    ),
}
