"""Calls that a healthy run made, taken out: the step only writes down what it would ask, and the run goes on.

The announcements are what people and models write before a call, in several languages; the look-alikes name a tool for
another reason, make the call after all, or compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from captured_faults import LLM, Step, Traces, copied, place_of
from small_traces import Did, Said, run, tool, trace

from tracejury.schemas.normalized import Kind, Message, NormalizedSpan
from tracejury.schemas.trajectory import Trace

ANNOUNCEMENTS: Final = (
    "I'll look this up with {tool} before I say anything.",
    "Next I'm going to run {tool} to get the exact value.",
    "To be sure about the figure, let me query {tool} for it.",
    "Handing this over to {tool} now.",
    "My next action is a call of {tool} with the question above.",
    "We need the value first, so {tool} is up next.",
    "Calling {tool}...",
    "OK, using {tool} for the first half of the question.",
    "I have to find the length first. I will therefore consult {tool}, and only then compute.",
    "Ich frage jetzt {tool} nach dem genauen Wert.",
    "Je vais lancer {tool} pour obtenir la valeur.",
    "Voy a consultar {tool} para obtener el dato.",
    "\u6211\u5148\u7528 {tool} \u67e5\u4e00\u4e0b\u8fd9\u4e2a\u6570\u636e\u3002",
)

ASIDES: Final = (
    "There is no need for {tool} here; the numbers were given above.",
    "I decided against {tool}, because the question already contains the answer.",
    "{tool} is described as a slow tool and would add nothing.",
    "Should I check this with {tool}, or is an estimate enough?",
    "If the first source is silent, {tool} could still be tried later.",
    "I will answer right away. I do not need {tool} for that.",
    "I won't use {tool} for this, since the user gave the figure.",
    "The user asked me to answer without {tool}, so I will.",
    "The value is settled; let me write it down. A source such as {tool} was not asked for.",
)
"""Texts that name a tool which is rightly not called."""


def said_before(traces: Traces, step: Step, text: str) -> Traces:
    """The traces in which the words come one step before the call, which is made then."""
    llm = step.turn.llm
    assert llm is not None
    said = Message("assistant", text)
    parent, start = place_of(step.turn)
    before = copied(llm, LLM, parent, start - 40, output_messages=(said,), output_text=text, finish_reasons=("stop",))
    own = {s.span_id for turn in step.run.turns for s in turn.spans}
    sent = len(llm.input_messages)
    found: dict[str, list[NormalizedSpan]] = {}
    for trace_id, spans in traces.items():
        found[trace_id] = [
            replace(s, input_messages=(*llm.input_messages, said, *s.input_messages[sent:]))
            if sent and s.span_id in own and s.kind is Kind.LLM and s.input_messages[:sent] == llm.input_messages
            else s
            for s in spans
        ]
        found[trace_id] += [before] * (trace_id == before.raw.trace_id)
    return found


def said_with(traces: Traces, step: Step, text: str) -> Traces:
    """The traces in which the words stand beside the call."""
    own = {s.span_id for s in step.turn.spans if s.kind is Kind.LLM}

    def spoken(span: NormalizedSpan) -> NormalizedSpan:
        messages = [replace(m, text=text) if m.tool_requests else m for m in span.output_messages]
        return replace(span, output_messages=tuple(messages))

    return {i: [spoken(s) if s.span_id in own else s for s in spans] for i, spans in traces.items()}


PRINTING: Final = (
    'task = (\n    "Please find out how long the river is. "\n    "State the unit, too."\n)\nprint(task)',
    'print("{tool}: wie lang ist der Fluss, in km?")',
    'river = "the Rhine"\nquestion = f"What is the length of {river} in km?"\nprint("To {tool}:", question)',
    'request: str = "Longueur du fleuve en kilometres, avec la source"\nprint(request)',
)
"""Code that writes a request down and calls nobody."""

REMARKS: Final = (
    'print("Both lengths are in the question.")',
    'answer = "The Rhine is the longer river"\nprint("Answer:", answer)',
    'print("Der Rhein ist der laengere Fluss.")',
    'print("{tool} would only tell what the question says already.")',
)
"""Code that prints what the agent has decided."""

COMPUTING: Final = (
    "print(1230 - 1094)",
    'a, b = 1230, 1094\nprint("The difference is", a - b, "kilometres")',
    'print("The Rhine is the longer of the two".upper().count("R"))',
)
"""Code that works."""


def by_code(traces: Traces, step: Step, tool: str, text: str, code: str) -> Traces:
    """The traces in which a step runs code in place of its call, and is told what the code prints."""
    request = replace(step.turn.tool_requests[0], name=tool, arguments={"code": code})
    printed = "\n".join(part for part in code.split('"')[1::2] if part)
    call = step.call.span.span_id if step.call.span is not None else ""
    ids = {r.call_id for r in step.turn.tool_requests if r.call_id}
    records = {s.span_id for s in step.turn.spans if s.kind is Kind.LLM}
    said = Message("assistant", text, (request,))

    def message(one: Message) -> Message:
        if one.tool_requests and one.tool_requests == step.turn.tool_requests:
            return said
        mine = one.tool_call_id in ids if one.tool_call_id else one.role == "tool" and one.text == step.call.result
        return replace(one, text=printed, name=tool if one.name else "") if mine else one

    def span(one: NormalizedSpan) -> NormalizedSpan:
        if one.span_id in records:
            return replace(one, output_messages=(said,), output_text="")
        if one.span_id == call:
            return replace(
                one, tool_name=tool, tool_arguments=request.arguments, tool_result=printed, output_text=printed
            )
        return replace(one, input_messages=tuple(map(message, one.input_messages)))

    return {i: [span(s) for s in spans] for i, spans in traces.items()}


LOOKUPS: Final = {"search": "query", "ask_researcher": "task", "get_order": "order"}
"""Tools of generated agents with the name of their argument."""


def written_down(name: str, text: str, *codes: str) -> Trace:
    """A code agent that prints what it would ask, and answers; `text` and `codes` with {tool}."""
    said = text.replace("{tool}", name)
    printed = "Execution logs:\n(its words)\nLast output from code snippet:\nNone"
    pieces = (code.replace("{tool}", name) for code in codes)
    return _by_code(
        name,
        *(
            Said(f"a{i}", f"Thought: {said}\nCode:\n```py\n{code}\n```<end_code>", observed=printed)
            for i, code in enumerate(pieces)
        ),
    )


def written_and_called(name: str, text: str) -> Trace:
    """The same agent, which calls in its code."""
    said, code = text.replace("{tool}", name), f'print({name}("How long is the Rhine?"))'
    did = Did(name, {LOOKUPS[name]: "How long is the Rhine?"}, "1230 km", None, "t1")
    return _by_code(name, Said("a0", f"Thought: {said}\nCode:\n```py\n{code}\n```", [did], observed="1230 km"))


def _by_code(name: str, *steps: Said) -> Trace:
    last = Said("z", "The Rhine is 1230 km long.", sees=[steps[-1].observed])
    given = tool(name, (LOOKUPS[name],), **{LOOKUPS[name]: "string"})
    return trace(run("r1", *steps, last, goal="How long is the Rhine?", tools=[given]))


def omissions(healthy: Traces, step: Step, number: int) -> Iterator[tuple[Traces, bool]]:
    """Some faults and as many look-alikes in a capture, each with whether it is a fault; `number` varies the words."""
    name = step.call.name
    for i, code in enumerate(PRINTING):
        text = ANNOUNCEMENTS[(number + 3 * i) % len(ANNOUNCEMENTS)]
        yield (
            by_code(healthy, step, INTERPRETERS[i % 2], text.replace("{tool}", name), code.replace("{tool}", name)),
            True,
        )
    text = ANNOUNCEMENTS[number % len(ANNOUNCEMENTS)].replace("{tool}", name)
    aside = ASIDES[number % len(ASIDES)].replace("{tool}", name)
    remark = REMARKS[number % len(REMARKS)].replace("{tool}", name)
    yield said_before(healthy, step, text), False
    yield said_with(healthy, step, text), False
    yield by_code(healthy, step, INTERPRETERS[0], text, COMPUTING[number % len(COMPUTING)]), False
    yield by_code(healthy, step, INTERPRETERS[1], aside, remark), False


INTERPRETERS: Final = ("python_interpreter", "execute_code")
