"""Small traces with one kind of error each, for the tests of all detectors: `FAULTY` by the rule that must fire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from coding_traces import GREP, coding
from small_traces import Did, Said, run, tool, trace

from tracejury.schemas.normalized import Message, ToolRequest
from tracejury.schemas.trajectory import Trace, TurnKind

SEARCH = tool("web_search", ("query",), query="string")
OPEN = tool("open_file", ("path",), path="string")
LIMITED = Did("search", {"q": "flavours"}, "Tool call limit reached. Do not call it again.", executed=None)
PLAN, FACTS, ANSWER = TurnKind.PLAN, TurnKind.FACTS, TurnKind.ANSWER
LOOK_UP_PLAN = "1. Use web_search to find the year.\n2. Answer."
LONG_PLAN = "\n".join(f"{i}. Use web_search for part {i}." for i in range(1, 7))


def asked(query: str, span_id: str, result: str = "a page about it", error: str | None = None) -> Did:
    """A web search."""
    return Did("web_search", {"query": query}, result, error, span_id)


def final(span_id: str, text: str = "It was found.", answer: str = "1937", *sees: str) -> Said:
    """A turn that hands over an answer by a tool."""
    return Said(span_id, text, [Did("final_answer", {"answer": answer})], sees)


def empty_reply(span_id: str) -> Said:
    """A turn in which the model replies with nothing."""
    return Said(span_id, "", sees=["a page about it"], finish_reasons=("stop",))


def lost_result() -> Trace:
    """A turn that goes on although its history holds the request and no result of it."""
    base = run("r1", Said("a1", "", [asked("year", "t1")]), final("z1", "It was 1937.", "1937"), tools=[SEARCH])
    first, last = base.turns
    call = replace(first.tool_calls[0], call_id="c1", result=None)
    assert last.llm is not None
    sent = Message("assistant", "", (ToolRequest("web_search", {"query": "year"}, "c1"),))
    last = replace(last, llm=replace(last.llm, input_messages=(sent,)))
    return trace(replace(base, turns=(replace(first, tool_calls=(call,)), last)))


def ungrounded(text: str, plan: str = LOOK_UP_PLAN) -> Trace:
    """A manager plans a search, runs none, and answers."""
    return trace(run("r1", Said("p1", plan, kind=PLAN), final("a1", text), tools=[SEARCH]))


def failing(error: str, times: int = 1) -> Trace:
    """A manager whose reading of a given file fails `times` times in a row; then it goes another way and answers."""
    turns = [
        Said(f"a{i}", "Reading.", [Did("open_file", {"path": "data.csv"}, None, error, f"t{i}")], [error][: i and 1])
        for i in range(times)
    ]
    other_way = Said("z1", "I will try a different approach instead.", [asked("the data", "tz")], [error])
    goal = "Sum up data.csv"
    return trace(run("r1", *turns, other_way, final("z2", "It is 4.", "4", "4 rows"), tools=[SEARCH, OPEN], goal=goal))


def broken_code(error: str) -> Trace:
    """A manager whose own code raises, and which then does it right."""
    turns = [Said("a1", "print(x)", step_error=error), Said("a2", "Searching.", [asked("year", "t1")], [error])]
    return trace(run("r1", *turns, final("z1", "1937.", "1937", "It was 1937."), tools=[SEARCH]))


def announcing(times: int) -> Trace:
    """A manager that says `times` times that it will search, and reads its notes instead."""
    said = [Said(f"a{i}", "I will now ask web_search for the year.\nprint(task)") for i in range(times)]
    done = Said("z1", "", [Did("read_notes", {"page": 1}, "It was 1937.", None, "t1")])
    return trace(run("r1", *said, done, final("z2", "It was 1937.", "1937", "It was 1937."), tools=[SEARCH]))


def wrong_arguments(times: int) -> Trace:
    """A sub-agent that passes an argument which a tool does not take, `times` times in a row."""
    error = "TypeError: PageDown.forward() got an unexpected keyword argument ''"
    schema: Mapping[str, object] = {"type": "object", "properties": {}}
    turns = [
        Said(f"a{i}", "", [Did("page_down", {"": ""}, None, error, f"t{i}", parameters=schema)], [error][: i and 1])
        for i in range(times)
    ]
    reader = Said("z1", "Asking elsewhere.", [asked("year", "tz")], [error])
    return trace(run("r1", *turns, reader, final("z2", "1937.", "1937", "It was 1937."), role="sub-agent"))


def surveyed_failures() -> Trace:
    """Two failures in a row that a survey of facts reads first."""
    base = failing("FileNotFoundError: data.csv", 2).runs[0]
    survey = Said("f1", "What we know so far: nothing.", sees=["FileNotFoundError: data.csv"], kind=FACTS)
    turns = [
        Said(
            f"a{i}", "Reading.", [Did("open_file", {"path": "data.csv"}, None, "FileNotFoundError: data.csv", f"t{i}")]
        )
        for i in range(2)
    ]
    return trace(run("r1", *turns, survey, final("z1", "Nothing.", "unknown"), goal=base.goal))


def churning(*queries: str) -> Trace:
    """An agent that searches for these things, one a turn, with a result of its own each."""
    turns = [Said(f"a{i}", "Searching.", [asked(q, f"t{i}", f"page {i}")]) for i, q in enumerate(queries)]
    return trace(run("r1", *turns, final("z1", "1937.", "1937", "It was 1937."), tools=[SEARCH]))


def in_turn(times: int) -> Trace:
    """Two calls in turn, each round with the same arguments and results."""
    tools = (("search", "three pages"), ("open_page", "the first page"))
    turns = (Said(f"{t}{n}", "", [Did(t, {"q": 1}, r, None, f"tool-{t}{n}")]) for n in range(times) for t, r in tools)
    return trace(run("r1", *turns, Said("z", "There are three.")))


def same_calls(times: int) -> Trace:
    """An agent that makes one call `times` times and gets the same each time."""
    turns = [Said(f"a{i}", "Searching.", [asked("length of the river", f"t{i}", "1230 km")]) for i in range(times)]
    return trace(run("r1", *turns, final("z1", "1230 km.", "1230", "1230 km"), tools=[SEARCH]))


def planned(plan: str, *turns: Said, role: str = "manager", tools: tuple[str, ...] = ("web_search",)) -> Trace:
    """An agent that makes a plan and then takes these turns."""
    given = [t for t in (SEARCH, OPEN) if t.name in tools]
    return trace(run("r1", Said("p1", plan, kind=PLAN), *turns, tools=given, role=role))


def replanned(first: str, second: str) -> Trace:
    """An agent that plans, fails twice with web_search, and plans anew."""
    turns = [Said(f"a{i}", "Searching.", [asked("year", f"t{i}", error="Exception: nothing")]) for i in range(2)]
    last = final("z1", "Not known.", "unknown")
    return trace(run("r1", Said("p1", first, kind=PLAN), *turns, Said("p2", second, kind=PLAN), last, tools=[SEARCH]))


def page(title: str) -> Trace:
    """An agent that fetches a page with this title; the call itself goes well."""
    fetched = Did(
        "visit_page", {"url": "https://example.org/a"}, f"Address: x\nTitle: {title}\n\nPlease wait", None, "t1"
    )
    return trace(run("r1", Said("a1", "Visiting.", [fetched]), final("z1", "1937.", "1937", "It was 1937.")))


def limited() -> Trace:
    """A sub-agent that uses up its steps and is then asked for what it has."""
    acts = [Said(f"a{i}", "Searching.", [asked(f"part {i} of it", f"t{i}")]) for i in range(2)]
    last = Said("z1", "Here is what I have.", kind=ANSWER)
    return trace(run("r1", *acts, last, max_steps=2, role="sub-agent", tools=[SEARCH]))


_ERRORS: Final[Mapping[str, str]] = {
    "file-error": "FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'",
    "parse-error": "SyntaxError: invalid syntax in line 3",
    "no-result-error": "Exception: No results found for query: 'the data'",
    "import-error": "ModuleNotFoundError: No module named 'pandas'",
    "limit-error": "InterpreterError: Reached the max number of operations of 10000000",
    "timeout-error": "TimeoutError: the call timed out after 30 s",
    "rate-error": "HTTPError: 429 Too Many Requests from the backend",
    "auth-error": "HTTPError: 403 Forbidden for this resource",
    "not-found-error": "HTTPError: 404 Client Error: Not Found for url",
    "service-error": "ConnectionError: connection refused by the host",
    "broken-error": "UnboundLocalError: cannot access local variable 'res'",
    "raised-error": "ValueError: not a number at all",
}
_MODEL_ERRORS: Final[Mapping[str, str]] = {
    "model-rate": "RateLimitError: 429 Too Many Requests",
    "model-timeout": "APITimeoutError: Request timed out.",
    "model-auth": "AuthenticationError: invalid api key",
    "model-limit": "BadRequestError: maximum context length is 8192 tokens",
    "model-service": "InternalServerError: overloaded",
}

_ENDINGS: Final[Mapping[str, str]] = {
    "run-limit": "Max turns exceeded: {'max_turns': 12}",
    "run-timeout": "TimeoutError: the run took longer than 60 s",
    "run-cancelled": "CancelledError: cancelled by the caller",
    "run-crashed": "KeyError: 'river'",
}

FAULTY: Final[Mapping[str, Trace]] = {
    "ungrounded-turn": ungrounded("The year was 1937."),
    "ungrounded-no-call": ungrounded("The year was 1937."),
    "ungrounded-plan": ungrounded("The year was 1937.", "1. Search for the year.\n2. Answer."),
    "ungrounded-assumption": ungrounded("I will assume that the year was 1937."),
    "ungrounded-simulation": ungrounded("I simulate the search: it was 1937."),
    "ungrounded-recall": ungrounded("I recall that the year was 1937."),
    "ungrounded-claimed-verification": ungrounded("It is verified that the year was 1937."),
    "ungrounded-tool-claim": ungrounded("As web_search says, the year was 1937."),
    "ungrounded-after-failure": planned(
        LOOK_UP_PLAN,
        Said("a1", "Searching.", [asked("year", "t1", error="ValueError: no")]),
        final("z1", "It was 1937."),
    ),
    "intent-without-call": announcing(1),
    "intent-without-call-again": announcing(2),
    "schema-violation": wrong_arguments(1),
    "schema-violation-read": wrong_arguments(1),
    "unknown-tool": trace(
        run(
            "r1",
            Said("a1", "", [Did("sing", {"a": 1}, None, executed=False)], tools=[SEARCH]),
            final("z1"),
            tools=[SEARCH],
        )
    ),
    "malformed-arguments": trace(
        run(
            "r1",
            Said("a1", "", [Did("web_search", '{"query": "ye', None, "the arguments could not be read", "t1")]),
            final("z1"),
            tools=[SEARCH],
        )
    ),
    "call-refused": trace(
        run(
            "r1",
            Said("a1", "", [Did("cancel_order", {"order": 7}, "Error: the order was sent already", None, "t1")]),
            final("z1", "It was sent already.", "no"),
        )
    ),
    "lost-result": lost_result(),
    **{name: failing(error) for name, error in _ERRORS.items()},
    **{f"{name}-read": failing(error) for name, error in _ERRORS.items()},
    **{f"{name}-at-tool": failing(error) for name, error in _ERRORS.items()},
    "code-error": broken_code("NameError: the name 'x' is not defined"),
    "code-error-read": broken_code("NameError: the name 'x' is not defined"),
    **{
        name: trace(run("r1", Said("a1", "", llm_error=error), final("z1", "1937.", "1937", "It was 1937.")))
        for name, error in _MODEL_ERRORS.items()
    },
    **{
        name: trace(run("r1", Said("a1", "Searching.", [asked("year", "t1")]), tools=[SEARCH], error=error))
        for name, error in _ENDINGS.items()
    },
    "empty-answer": trace(
        run("r1", Said("a1", "Searching.", [asked("year", "t1")]), empty_reply("z1"), tools=[SEARCH])
    ),
    "repeated-failure": failing("ValueError: no", 2),
    "identical-failure": failing("ValueError: no", 3),
    "repeated-failure-read": failing("ValueError: no", 2),
    "repeated-failure-at-tool": failing("ValueError: no", 2),
    "repeated-failure-surveyed": surveyed_failures(),
    "query-churn": churning("oldest flavour in the graveyard", "oldest flavour graveyard list"),
    "query-churn-at-tool": churning("oldest flavour in the graveyard", "oldest flavour graveyard list"),
    "identical-call": same_calls(3),
    "identical-cycle": in_turn(3),
    "runaway": trace(run("r1", *(Said(f"a{n}", "", [asked(f"part {n}", f"t{n}")]) for n in range(301)))),
    "call-limit": trace(run("r1", *(Said(f"a{n}", "", [LIMITED]) for n in range(3)), Said("z", "Sorry."))),
    "same-plan-again": replanned(LONG_PLAN, LONG_PLAN),
    "plan-relies-on-failed-tool": replanned(LOOK_UP_PLAN, "1. Try web_search once more.\n2. Answer."),
    "approach-switch": planned(
        "1. Read data.csv with open_file.\n2. Answer.",
        Said("a1", "Reading.", [Did("open_file", {"path": "data.csv"}, None, "ValueError: no", "t1")]),
        Said("z1", "I will try a different approach instead.", sees=["ValueError: no"]),
        final("z2", "It is 4.", "4", "4 rows"),
    ),
    "auth-error-page": page("Error 403"),
    "not-found-error-page": page("404 Not Found"),
    "rate-error-page": page("Error 429"),
    "timeout-error-page": page("504 Gateway Timeout"),
    "service-error-page": page("Error"),
    "first-tool-differs": planned(
        "1. Use open_file on the report.\n2. Answer.",
        Said("a1", "Searching.", [asked("report", "t1")]),
        final("z1", "1937.", "1937", "It was 1937."),
        tools=("web_search", "open_file"),
    ),
    "planned-tool-never-called": planned(
        "1. Use web_search for it.\n2. Read it with open_file.",
        Said("a1", "Searching.", [asked("report", "t1")]),
        final("z1", "1937.", "1937", "It was 1937."),
        tools=("web_search", "open_file"),
    ),
    "plan-names-no-tool": planned("1. Search for the year on a website.\n2. Answer.", final("z1")),
    "plan-needs-missing-interface": planned("1. Query the Arxiv API for the list.\n2. Count.", final("z1")),
    "early-finish": planned(
        LONG_PLAN, Said("a1", "Searching.", [asked("part 1", "t1")]), final("z1", "1937."), role="sub-agent"
    ),
    "unfinished-plan": trace(
        run(
            "r1",
            Said("p1", LONG_PLAN, kind=PLAN),
            Said("a1", "Searching.", [asked("part 1", "t1")]),
            Said("f1", "Known so far: little.", kind=FACTS),
            Said("p2", LONG_PLAN.replace("part", "piece"), kind=PLAN),
            final("z1", "1937."),
            tools=[SEARCH],
            role="sub-agent",
        )
    ),
    "step-limit": limited(),
    "output-limit": trace(run("r1", Said("a1", "The answer is long and", finish_reasons=("length",)))),
    "answer-after-failure": planned(
        LOOK_UP_PLAN,
        Said("a1", "Searching.", [asked("year", "t1", error="ValueError: no")]),
        final("z1", "It was 1937."),
    ),
    "invented-path": trace(
        run(
            "r1",
            Said("a1", "Reading.", [Did("open_file", {"path": "report_85.pdf"}, None, "FileNotFoundError: no", "t1")]),
            final("z1", "Nothing.", "unknown"),
            tools=[OPEN],
        )
    ),
    "unobserved-answer": planned(
        LOOK_UP_PLAN,
        Said("a1", "Searching.", [asked("who wrote it", "t1")]),
        final("z1", "It was her.", "Jane Austen", "a page about somebody else"),
    ),
    "mistyped-argument": trace(
        run(
            "r1",
            Said("a1", "", [Did("open_file", {"path": ["data.csv"]}, "4 rows", None, "t1")]),
            final("z1", "4 rows.", "4", "4 rows"),
            tools=[OPEN],
            goal="Count data.csv",
        )
    ),
    "identical-step": coding(*[(GREP, "")] * 3),
    "claimed-action": trace(
        run("r1", Said("z1", "I have refunded your order."), tools=[tool("refund_order", ("id",), id="string")])
    ),
    "unsupported-detail": trace(
        run(
            "r1",
            Said("a1", "", [asked("length", "t1", "The Rhine is long.")]),
            Said("z1", "The Rhine is 1230 km long."),
        )
    ),
    "result-contradicted": trace(
        run("r1", Said("a1", "", [asked("Elbe", "t1", '{"length_km": 1094}')]), Said("z1", "Its length is 1112 km."))
    ),
    "execution-failed": trace(
        run(
            "r1",
            Said("a1", "", [Did("bash", {"command": "python fix.py"}, '{"exit_code": 1}', None, "t1")]),
            Said("z1"),
        )
    ),
    "execution-empty": trace(
        run(
            "r1",
            Said(
                "a1", "", [Did("bash", {"command": "python list.py"}, '{"exit_code": 0, "stdout": "[]"}', None, "t1")]
            ),
            Said("z1", "There are none."),
        )
    ),
    "patch-not-applied": trace(
        run("r1", Said("a1", "", [Did("edit_file", {"path": "a.py"}, "old_str not found in file", None, "t1")]))
    ),
    "edit-unchecked": trace(
        run(
            "r1",
            Said("a1", "", [Did("bash", {"command": "ls"}, "a.py", None, "t1")]),
            Said("a2", "", [Did("edit_file", {"path": "a.py", "text": "x = 1"}, "edited", None, "t2")]),
            Said("z1", "I repaired it."),
        )
    ),
    "tests-claimed": coding((GREP, ""), last="I fixed it, and all tests pass."),
    "entity-altered": trace(
        run(
            "r1",
            Said("a1", "Searching.", [asked("painters called Kowalevsky", "t1")]),
            final("z1", "It was her.", "1937", "It was 1937."),
            goal="Who painted Kovalevsky?",
        )
    ),
    "fabrication-wording": ungrounded("For this demonstration I imagine that it was 1937."),
}
"""By rule name."""


def healthy() -> Trace:
    """A manager and a sub-agent that plan, look things up, compute, and answer from what they saw."""
    helper = run(
        "r2",
        Said("b1", "Let me search.", [asked("length of the Rhine", "u1", "The Rhine is 1230 km long.")]),
        Said("b2", "The Rhine is 1230 km long.", sees=["The Rhine is 1230 km long."]),
        role="sub-agent",
        answer="The Rhine is 1230 km long.",
        tools=[SEARCH],
        parent_id="r1",
        goal="How long is the Rhine?",
    )
    asking = Did(
        "helper", {"task": "How long is the Rhine?"}, "The Rhine is 1230 km long.", None, "t1", sub_run_id="r2"
    )
    manager = run(
        "r1",
        Said("a1", "Plan:\n1. Ask the helper.\n2. Answer.", [asking]),
        Said("a2", "The Rhine is 1230 km long.", sees=["The Rhine is 1230 km long."]),
        answer="The Rhine is 1230 km long.",
        managed=("helper",),
        goal="How long is the Rhine?",
    )
    return trace(manager, helper)
