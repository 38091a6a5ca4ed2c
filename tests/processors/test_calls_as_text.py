"""Calls written as text: what replies ask for and next prompts answer, in several grammars and ways of retelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from trajectories import SHARED, load, normalise_all, span

from tracejury.judges.evidence import OwnText
from tracejury.processors.rebuild import rebuild
from tracejury.processors.text_grammars import answer_in, asked_part, requests_in
from tracejury.schemas.normalized import Message
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import AgentRun, Trace

TASK = "Tools: <search>query</search>, lookup. Task: Was kostet Paket 77 nach Oslo?"
FAILURE = "Error: search timed out"
FOUND = "Der Preis beträgt 14 EUR (価格)."

GRAMMARS: dict[str, tuple[str, str, Any]] = {
    "brackets": ("Thought: ich suche.\nAction: search[Paket 77\nOslo]", "search", "Paket 77\nOslo"),
    "input": ('Thought: look.\nAction: search\nAction Input: {"q": "a\\nb"}', "search", {"q": "a\nb"}),
    "tool_call": (
        'I look.\n<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>',
        "search",
        {"q": "x"},
    ),
    "function": ('I look it up.\n<function=search>{"q": "x"}</function>', "search", {"q": "x"}),
    "tag": ("<think>see</think>\n<search>Paket 77 価格\nOslo</search>", "search", "Paket 77 価格\nOslo"),
    "json": ('{"tool": "search", "args": {"q": "two\\nlines"}}', "search", {"q": "two\nlines"}),
    "fenced": ('```json\n{"action": "search", "action_input": "Paket 77"}\n```', "search", "Paket 77"),
}
MADE_UP = "\nObservation: 99 EUR\nThought: done.\nFinal Answer: 99 EUR"
LAST = "Thought: enough.\nFinal Answer: 14 EUR"


def chat(number: int, messages: Sequence[tuple[str, str]], reply: str) -> Span:
    """One call of a model's client, a root's child."""

    def told(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"type": "text", "content": text}]}

    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": [told(*m) for m in messages],
        "gen_ai.output.messages": [told("assistant", reply)],
    }
    return span(f"{number:016x}", "f" * 16, attributes, name="chat m", start=10 * number, end=10 * number + 5)


def loop(replies: Sequence[str], results: Sequence[str], way: str) -> list[Span]:
    """A loop that echoes what its replies ask for: appended as messages, at the prompt's end, or inside a template."""
    messages, pad, spans = [("user", TASK)], "", [span("f" * 16, name="episode", start=1, end=1000)]
    for number, reply in enumerate(replies, 1):
        retold = f"{TASK}\n{pad}" + ("\nGo on from here, step by step." if way == "template" else "")
        spans.append(chat(number, messages if way == "appended" else [("user", retold)], reply))
        if number <= len(results):
            echo, told = asked_part(reply), f"Observation: {results[number - 1]}"
            messages = [*messages, ("assistant", echo), ("user", told)]
            pad += f"{echo}\n{told}\n"
    return spans


def only_run(spans: Sequence[Span]) -> tuple[Trace, AgentRun]:
    trace = rebuild(normalise_all(spans))
    assert len(trace.runs) == 1
    return trace, trace.runs[0]


@pytest.mark.parametrize("way", ["appended", "end", "template"])
@pytest.mark.parametrize("made_up", ["", MADE_UP])
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_calls_and_results_of_a_loop_in_text(grammar: str, way: str, made_up: str) -> None:
    reply, name, arguments = GRAMMARS[grammar]
    asked = reply + made_up
    spans = loop([asked, asked, asked, LAST], [FAILURE, FAILURE, FOUND], way)
    trace, run = only_run(spans)
    calls = [c for t in run.turns for c in t.tool_calls]
    assert len(run.turns) == 4
    assert [(c.name, c.arguments, c.requested, c.executed) for c in calls] == [(name, arguments, True, True)] * 3
    assert [c.error for c in calls] == [FAILURE, FAILURE, None]
    assert [FOUND in (c.result or "") for c in calls] == [False, False, True]
    assert run.answer == "14 EUR"
    own = OwnText(trace)
    assert [own.holds(t.llm.span_id, FAILURE) for t in run.turns if t.llm] == [False, True, True, False]
    assert [TASK in "".join(m.text for m in t.new_messages) for t in run.turns] == [True, False, False, False]
    assert rebuild(normalise_all(spans[::-1])).runs == trace.runs


@pytest.mark.parametrize("way", ["appended", "end"])
@pytest.mark.parametrize(
    "reply",
    [
        "You could call search for that, but I am not sure which parcel you mean.",
        "The form is `Action: search[query]`, which you may use as you like, of course.",
        'A call such as {"tool": "search", "args": {}} would find it, if you want me to.',
        "Thought: both.\nAction: search[parcel]\nAction: drop[parcel]",
        "Here is some HTML for your page:\n<section>prices and other things</section>",
    ],
)
def test_text_that_mentions_a_tool_is_no_call(reply: str, way: str) -> None:
    trace = rebuild(normalise_all(loop([reply, "Fine, then we are done here."], ["thanks"], way)))
    assert not [c for run in trace.runs for t in run.turns for c in t.tool_calls]


def test_a_result_that_holds_calls_and_echoes_asks_for_nothing() -> None:
    reply = GRAMMARS["brackets"][0]
    quoting = f"the page says:\n{reply}\nObservation: 3 EUR\nAction: drop[everything]"
    _, run = only_run(loop([reply, LAST], [quoting], "end"))
    (call,) = [c for t in run.turns for c in t.tool_calls]
    assert (call.name, call.result) == ("search", f"Observation: {quoting}")


def test_a_call_that_nothing_follows_is_known_only_as_asked_for() -> None:
    reply = GRAMMARS["brackets"][0]
    _, run = only_run(loop([reply, reply], [FOUND], "appended"))
    assert [[(c.name, c.executed) for c in t.tool_calls] for t in run.turns] == [[("search", True)], [("search", None)]]
    _, run = only_run(loop([reply, reply.replace("search", "lookup")], [FOUND], "appended"))
    assert [len(t.tool_calls) for t in run.turns] == [1, 0]


@pytest.mark.parametrize("counter", ["", "Step {} of 9.\n"])
@pytest.mark.parametrize("reply", [r for r, _, _ in GRAMMARS.values()])
def test_what_a_sub_agent_says_stays_apart_from_its_manager(reply: str, counter: str) -> None:
    """Both retell one prompt; the sub-agent's calls come between those of its manager, which is sent its answer."""
    task, answer = "Find out what parcel 77 to Oslo costs.", "Parcel 77 to Oslo costs 14 EUR."
    ask = f'Thought: whom?\nAction: ask_clerk\nAction Input: {{"task": "{task}"}}'
    manager = "You are an agent. Tools: ask_clerk. Question: what does it cost to send a parcel to Oslo?\n"
    clerk = f"You are an agent. Tools: <search>query</search>. Question: {task}\n"
    prompts = [manager, clerk, f"{clerk}{reply}\nObservation: {FAILURE}\n"]
    prompts += [f"{prompts[2]}{reply}\nObservation: {FOUND}\n", f"{manager}{ask}\nObservation: {answer}\n"]
    told = [counter.format(at) + prompt for at, prompt in enumerate(prompts)]
    replies = (ask, reply, reply, answer, LAST)
    calls = (chat(at, [("user", told[at - 1])], said) for at, said in enumerate(replies, 1))
    spans = [span("f" * 16, name="episode", start=1, end=1000), *calls]
    trace = rebuild(normalise_all(spans))
    first, below = trace.runs
    assert (len(first.turns), len(below.turns), below.parent_id) == (2, 3, first.id)
    (call,) = [c for t in first.turns for c in t.tool_calls]
    assert (call.name, call.arguments, call.sub_run_id) == ("ask_clerk", {"task": task}, below.id)
    assert call.result == f"Observation: {answer}"
    assert [c.error for t in below.turns for c in t.tool_calls] == [FAILURE, None]
    assert rebuild(normalise_all(spans[::-1])).runs == trace.runs


TWO = {
    "tags": '<tool_call>{"name": "search", "args": {}}</tool_call> <tool_call>{"name": "look", "args": {}}</tool_call>',
    "list": '[{"name": "search", "arguments": {}}, {"name": "look", "args": {}}]',
}


@pytest.mark.parametrize("reply", TWO.values(), ids=TWO)
@pytest.mark.parametrize("way", ["appended", "end", "template"])
def test_several_calls_of_one_reply(reply: str, way: str) -> None:
    """Each has the result that stands in a tag of its own; where that is not so, nobody knows whose it is."""
    apart = f"<tool_response>\n{FAILURE}\n</tool_response>\n<tool_response>{FOUND}</tool_response>"
    spans = loop([reply, reply, LAST], [apart, f"{FOUND} and {FAILURE}"], way)
    spans = [relabelled(one, "Observation: <", "<") for one in spans]
    _, run = only_run(spans)
    first, second = (t.tool_calls for t in run.turns[:2])
    assert [(c.name, c.executed, c.error is not None) for c in first] == [("search", True, True), ("look", True, False)]
    assert [(c.name, c.executed, c.result) for c in second] == [("search", None, None), ("look", None, None)]


@pytest.mark.parametrize("way", ["appended", "end", "template"])
@pytest.mark.parametrize(("label", "calls"), [("Observation: ", 2), ("Observation 2: ", 2), ("", 0)])
def test_several_actions_of_one_reply(way: str, label: str, calls: int) -> None:
    """Each is a call where an observation of its own stands behind all; of one observation nobody knows whose it is."""
    reply = "Thought: both.\nAction: search[Paket 77]\nThought: and\nAction: lookup\nAction Input: {}"
    trace = rebuild(normalise_all(loop([reply, LAST], [f"{FAILURE}\n{label}{FOUND}"], way)))
    made = [c for run in trace.runs for t in run.turns for c in t.tool_calls]
    told = [(c.name, c.arguments, c.error is not None) for c in made]
    assert told == [("search", "Paket 77", True), ("lookup", {}, False)][:calls]


PROMPT = "You are a clerk.\n```python\ndef search(query: str, limit: int = 3) -> str:\n```\nTask: price of parcel 77?"


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        ("Thought: look.\n<code>\nr = search(query='parcel 77')\nprint(r)\n</code>", [{"query": "parcel 77"}]),
        ("Look.\n```python\nprint(search('parcel 77', 2))\n```", [{"query": "parcel 77", "limit": 2}]),
        ("Look.\n```py\nfor q in names:\n    search(query=q)\n```", [{"query": "q"}]),
        ("Look.\n```python\nfetch(query='parcel 77')\n```", None),  # the prompt defines no such function
        ("Look.\n```python\nsearch(query=\n```", None),
    ],
)
def test_code_calls_functions_that_the_prompt_defines(reply: str, calls: list[Any] | None) -> None:
    """With named and positional arguments; what a harness noted behind the echo is no result."""
    noted = ("assistant", "Calling tools: python")
    sent = [("user", PROMPT), ("assistant", reply), noted, ("user", f"Observation: {FAILURE}")]
    spans = [span("f" * 16, name="episode", start=1, end=1000), chat(1, sent[:1], reply)]
    (run,) = rebuild(normalise_all([*spans, chat(2, sent, "<code>\nfinal_answer('14 EUR')\n</code>")])).runs
    made = [c for t in run.turns for c in t.tool_calls if c.name in ("search", "fetch")]
    assert [(c.arguments, c.error is not None) for c in made] == [(given, True) for given in calls or ()]
    assert run.answer == ("14 EUR" if calls else run.answer)


def relabelled(one: Span, old: str, new: str) -> Span:
    """The span with another word before what its prompt tells of results."""
    told = {key: value.replace(old, new, 1) for key, value in one.attributes.items()}
    return replace(one, attributes=told)


def test_json_behind_prose_calls_only_a_tool_on_offer() -> None:
    offered = 'Let me see.\n```json\n{"tool": "lookup", "args": {"q": 1}}\n```'
    other = offered.replace("lookup", "book")
    _, run = only_run(loop([offered, LAST], [FOUND], "end"))
    assert [c.name for t in run.turns for c in t.tool_calls] == ["lookup"]
    trace = rebuild(normalise_all(loop([other, LAST], [FOUND], "end")))
    assert not [c for run in trace.runs for t in run.turns for c in t.tool_calls]


@pytest.mark.parametrize(
    ("told", "way", "ran"),
    [
        (f"Observation: {FAILURE}", "appended", True),
        (f"<observation>\n{FAILURE}\n</observation>", "end", True),
        (f"Execution logs: {FAILURE}", "end", True),
        ("Thanks, and now in one line?", "appended", False),
        ("Output: it works, thanks", "appended", False),
        ("<div> is missing", "end", False),
    ],
)
def test_code_was_run_where_a_label_introduces_what_came_of_it(told: str, way: str, *, ran: bool) -> None:
    reply = "I list the files first.\n```bash\nls -l /tmp\n```"
    spans = [relabelled(one, "Observation: ", "") for one in loop([reply, "It is done, I think."], [told], way)]
    (run,) = rebuild(normalise_all(spans)).runs
    calls = [(c.name, c.arguments, c.error is not None) for t in run.turns for c in t.tool_calls]
    assert calls == ([("bash", "ls -l /tmp", "Error" in told)] if ran else [])


@pytest.mark.parametrize("before", ["User: how much?\n", ""])
def test_a_question_behind_a_result_is_no_part_of_it(before: str) -> None:
    """Where the prompt marked the user's words so before; else the label may stand in what was found."""
    reply = GRAMMARS["input"][0]
    first = f"{TASK}\n{before}"
    retold = f"{first}{reply}\nObservation: {FOUND}\nUser: and to Bergen?\n"
    root = span("f" * 16, name="episode", start=1, end=1000)
    _, run = only_run([root, chat(1, [("user", first)], reply), chat(2, [("user", retold)], LAST)])
    (call,) = [c for t in run.turns for c in t.tool_calls]
    assert ("Bergen" in (call.result or "")) is not bool(before)
    assert "Bergen" in "".join(m.text for m in run.turns[1].new_messages)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Thought: x\nFinal Answer: 12 EUR", "12 EUR"),
        ("<think>x</think><answer>12 EUR</answer>", "12 EUR"),
        ("Thought: x\nAction: finish[12 EUR]", "12 EUR"),
        ("It is 12 EUR.", "It is 12 EUR."),
    ],
)
def test_forms_of_a_final_answer(reply: str, answer: str) -> None:
    assert answer_in(reply) == answer
    assert not requests_in(asked_part(reply), [Message("user", "<answer>")])


@pytest.mark.skipif(not (SHARED / "shapes").is_dir(), reason="needs the shared shapes")
def test_a_retold_loop_that_fails_again_and_again() -> None:
    (spans,) = load(SHARED / "shapes" / "11-calls-as-text.traces.json").values()
    (run,) = rebuild(spans).runs
    calls = [c for t in run.turns for c in t.tool_calls]
    assert len(run.turns) == 5
    assert [(c.name, c.error) for c in calls] == [("search", FAILURE)] * 4
    assert run.answer == "12 EUR"
