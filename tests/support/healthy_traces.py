"""Ordinary traces in which nothing is wrong, or nothing that the agent did not handle: `HEALTHY` by what they show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from small_traces import Did, Said, run, tool, trace, without_content

from tracejury.schemas.trajectory import Trace, TurnKind

SEARCH = tool("web_search", ("query",), query="string")
FETCH = tool("fetch_page", ("url",), url="string")
ORDERS = tool("get_orders", ("customer",), customer="string", page="integer", status="string")
JOB = tool("get_job", ("id",), id="string")
WEATHER = tool("get_weather", ("city",), city="string")
PLAN, FACTS = TurnKind.PLAN, TurnKind.FACTS


def chat() -> Trace:
    """An assistant without tools, over many turns of talk."""
    talk = (
        "Hello! How can I help you today?",
        "Paris is the capital of France. It has about two million inhabitants.",
        "Sure. I would suggest three days: one for the museums, one for the gardens, one for Versailles.",
        "I think the train is the better choice; it is usually faster.",
        "You're welcome. Let me know if you need anything else.",
    )
    return trace(run("r1", *(Said(f"a{i}", text, sees=[f"question {i}"]) for i, text in enumerate(talk))))


def retrieval() -> Trace:
    """Documents are put into the prompt before the only call; there is no tool."""
    return trace(
        run(
            "r1",
            Said(
                "a1",
                "According to the handbook, returns are accepted within 30 days.",
                sees=["Context: Returns are accepted within 30 days.\n\nQuestion: How long may I return it?"],
            ),
            goal="How long may I return it?",
        )
    )


def handled_absence(result: str) -> Trace:
    """A fetch tells that there is no such thing; the agent asks elsewhere and answers from that."""
    first = Did("fetch_page", {"url": "https://example.org/old"}, result, None, "t1")
    second = Did("fetch_page", {"url": "https://example.org/new"}, "Opening hours: 9 to 17", None, "t2")
    return trace(
        run(
            "r1",
            Said("a1", "I'll open the page.", [first]),
            Said("a2", "That page is gone; I'll open the current one.", [second], [result]),
            Said("a3", "It is open from 9 to 17.", sees=["Opening hours: 9 to 17"]),
            goal="When is it open?",
            tools=[FETCH],
        )
    )


def reported_absence(result: str, answer: str) -> Trace:
    """A look-up brings nothing, which is the answer."""
    asked = Did("get_orders", {"customer": "Ada", "status": "open"}, result, None, "t1")
    return trace(
        run(
            "r1",
            Said("p1", "1. Use get_orders for the open orders.\n2. Report them.", kind=PLAN),
            Said("a1", "", [asked]),
            Said("a2", answer, sees=[result]),
            goal="Which open orders has Ada?",
            tools=[ORDERS],
        )
    )


def parallel() -> Trace:
    """Three calls in one turn."""
    cities = {"Oslo": "4 degrees", "Rome": "19 degrees", "Cairo": "27 degrees"}
    calls = [Did("get_weather", {"city": c}, w, None, f"t{i}") for i, (c, w) in enumerate(cities.items())]
    answer = Said("a2", "Oslo 4, Rome 19, Cairo 27 degrees.", sees=list(cities.values()))
    return trace(run("r1", Said("a1", "", calls), answer, goal="Weather in Oslo, Rome, Cairo?", tools=[WEATHER]))


def polling() -> Trace:
    """A job is asked for until it is done."""
    states = ["queued", "running", "running", "running", "done: 12 rows"]
    turns = [
        Said(f"a{i}", "", [Did("get_job", {"id": "j7"}, state, None, f"t{i}")], [states[i - 1]] if i else [])
        for i, state in enumerate(states)
    ]
    return trace(run("r1", *turns, Said("z1", "The job wrote 12 rows.", sees=[states[-1]]), tools=[JOB]))


def paging() -> Trace:
    """The same list, page by page, and once with another filter."""
    asks = [{"customer": "Ada", "page": i} for i in range(1, 5)] + [{"customer": "Ada", "status": "open"}]
    turns = [
        Said(f"a{i}", "", [Did("get_orders", a, f"orders {i}0 to {i}9", None, f"t{i}")]) for i, a in enumerate(asks)
    ]
    return trace(run("r1", *turns, Said("z1", "Ada has 40 orders.", sees=["orders 40 to 49"]), tools=[ORDERS]))


def filters() -> Trace:
    """The same search for one thing after another."""
    queries = ["population of Norway in 2020", "population of Sweden in 2020", "population of Denmark in 2020"]
    turns = [
        Said(f"a{i}", "", [Did("web_search", {"query": q}, f"{5 + i} million", None, f"t{i}")])
        for i, q in enumerate(queries)
    ]
    last = Said("z1", "Together they had 18 million.", sees=["5 million", "6 million", "7 million"])
    return trace(run("r1", Said("p1", "Use web_search for each.", kind=PLAN), *turns, last, tools=[SEARCH]))


def computing() -> Trace:
    """A code agent that is given all that it needs."""
    code = "Thought: I add the numbers up.\n```py\ntotal = 12 * 3 + 4\nprint(total)\n```"
    return trace(
        run(
            "r1",
            Said("f1", "Given: 12 boxes of 3, and 4 more. Nothing has to be looked up.", kind=FACTS),
            Said("p1", "1. Multiply 12 by 3.\n2. Add 4.\n3. Give the answer.", kind=PLAN),
            Said("a1", code),
            Said("a2", "Thought: done.\n```py\nfinal_answer(40)\n```", [Did("final_answer", {"answer": 40})], ["40"]),
            goal="There are 12 boxes of 3 and 4 more. How many?",
            tools=[SEARCH],
        )
    )


def asking_back(question: str) -> Trace:
    """An agent that plans a look-up and then needs to know more from its user."""
    plan = Said("p1", "1. Ask for the city.\n2. Use get_weather.", kind=PLAN)
    weather = Did("get_weather", {"city": "Oslo"}, "4 degrees", None, "t1")
    return trace(
        run("r1", plan, Said("a1", question), goal="How warm is it?", tools=[WEATHER]),
        run(
            "r2",
            Said("b1", "", [weather], ["In Oslo."]),
            Said("b2", "It is 4 degrees in Oslo.", sees=["4 degrees"]),
            goal="In Oslo.",
            tools=[WEATHER],
        ),
    )


def foreign() -> Trace:
    """Questions, plans and answers in German and Japanese."""
    asked = Did("web_search", {"query": "L\u00e4nge des Rheins"}, "Der Rhein ist 1230 km lang.", None, "t1")
    return trace(
        run(
            "r1",
            Said("p1", "1. Mit web_search nachsehen.\n2. Antworten.", kind=PLAN),
            Said("a1", "Ich sehe nach.", [asked]),
            Said("a2", "Der Rhein ist 1230 km lang.", sees=["Der Rhein ist 1230 km lang."]),
            goal="Wie lang ist der Rhein?",
            tools=[SEARCH],
        ),
        run(
            "r2",
            Said("b1", "\u30e9\u30a4\u30f3\u5ddd\u306f1230\u30ad\u30ed\u3067\u3059\u3002"),
            goal="\u9577\u3055\u306f\uff1f",
        ),
    )


def streaming() -> Trace:
    """The first half of a run whose end has not come."""
    asked = Did("web_search", {"query": "length of the Rhine"}, "1230 km", None, "t1")
    plan = Said("p1", "1. Use web_search.\n2. Use fetch_page.\n3. Answer.", kind=PLAN)
    return trace(run("r1", plan, Said("a1", "Let me search.", [asked]), ended=False, tools=[SEARCH, FETCH]))


def named_only() -> Trace:
    """Content capture is off: names and times."""
    return without_content(parallel())


def own_plan(words: str) -> Trace:
    """The agent's first words are its plan; the calls follow in the next turn."""
    asked = Did("web_search", {"query": "length of the Rhine"}, "1230 km", None, "t1")
    return trace(
        run(
            "r1",
            Said("a1", words),
            Said("a2", "", [asked]),
            Said("a3", "The Rhine is 1230 km long.", sees=["1230 km"]),
            goal="How long is the Rhine?",
            tools=[SEARCH],
        )
    )


def retried(error: str) -> Trace:
    """A call fails once, and the same call works at once."""
    query = {"query": "length of the Rhine"}
    return trace(
        run(
            "r1",
            Said("a1", "", [Did("web_search", query, None, error, "t1")]),
            Said("a2", "", [Did("web_search", query, "1230 km", None, "t2")], [f"Error: {error}"]),
            Said("a3", "The Rhine is 1230 km long.", sees=["1230 km"]),
            goal="How long is the Rhine?",
            tools=[SEARCH],
        )
    )


def support() -> Trace:
    """A long talk with a customer: rules are quoted, an order is changed, small talk in between."""
    changed = Did("get_orders", {"customer": "Ada"}, "order 77: open", None, "t1")
    return trace(
        run(
            "r1",
            Said("a1", "Hello, this is support. May I have your name?"),
            Said("a2", "Thank you, Ada. Let me check your orders.", [changed], ["Ada"]),
            Said("a3", "Order 77 is open. Would you like to cancel it?", sees=["order 77: open"]),
            Said("a4", "I can't cancel it without your confirmation. Do you confirm?", sees=["Hm."]),
            Said("a5", "I need to check our policy: open orders can be changed. Should I go on instead?", sees=["?"]),
            Said("a6", "Unfortunately I cannot do that here; please call us.", sees=["no"]),
            goal="support",
            tools=[ORDERS],
        )
    )


def handed_over(answer: str) -> Trace:
    """A plan, a call that acts, and an answer by a tool that reports or sorts."""
    booked = Did("book_table", {"place": "Roma", "at": "19:00"}, '{"status": "ok", "id": 7}', None, "t1")
    return trace(
        run(
            "r1",
            Said("p1", "1. Use book_table.\n2. Report.", kind=PLAN),
            Said("a1", "Booking it.", [booked]),
            Said(
                "a2", "", [Did("final_answer", {"answer": answer}, "done", None, "t2")], ['{"status": "ok", "id": 7}']
            ),
            goal="Book a table at Roma for 19:00.",
            tools=[tool("book_table", ("place",), place="string", at="string")],
        )
    )


def second_helper() -> Trace:
    """One helper has nothing; the manager asks another one and answers from that."""
    helpers = {"archive": "I could not find it in the archive.", "library": "The Rhine is 1230 km long."}
    runs = [
        run(
            f"s{i}",
            Said(f"s{i}1", "", [Did("lookup", {"q": "Rhine"}, "no entry" if i == 0 else answer, None, f"s{i}t")]),
            Said(f"s{i}2", answer, sees=["no entry" if i == 0 else answer]),
            role="sub-agent",
            answer=answer,
            parent_id="r1",
            goal="How long is the Rhine?",
            name=name,
        )
        for i, (name, answer) in enumerate(helpers.items())
    ]
    asks = [
        Did(name, {"task": "How long is the Rhine?"}, answer, None, f"t{i}", sub_run_id=f"s{i}")
        for i, (name, answer) in enumerate(helpers.items())
    ]
    manager = run(
        "r1",
        Said("p1", "1. Ask archive.\n2. Ask library if needed.\n3. Answer.", kind=PLAN),
        Said("a1", "", [asks[0]]),
        Said("a2", "Now the library.", [asks[1]], [helpers["archive"]]),
        Said("a3", "The Rhine is 1230 km long.", sees=[helpers["library"]]),
        goal="How long is the Rhine?",
        answer="The Rhine is 1230 km long.",
        managed=tuple(helpers),
    )
    return trace(manager, *runs)


def reading_by_code() -> Trace:
    """A code agent that reads a file itself and answers from what it printed, although it has a tool for files."""
    code = "Thought: I read it.\n```py\nprint(open('data.csv').read())\n```"
    seen = "Execution logs:\nname,age\nAda,36"
    return trace(
        run(
            "r1",
            Said("p1", "1. Use inspect_file or read the file.\n2. Answer.", kind=PLAN),
            Said("a1", code, observed=seen),
            Said("a2", "Thought: 36.\n```py\nfinal_answer(36)\n```", [Did("final_answer", {"answer": 36})], [seen]),
            goal="How old is Ada? See data.csv.",
            tools=[tool("inspect_file", ("path",), path="string")],
        )
    )


HEALTHY: Final[Mapping[str, Trace]] = {
    "chat without tools": chat(),
    "retrieval in the prompt": retrieval(),
    "404 as text": handled_absence("404 Not Found"),
    "error page": handled_absence("Address: x\nTitle: 404 Not Found\n\nNothing here"),
    "not found as text": handled_absence("Error: page not found"),
    "no results, then some": handled_absence("No results found."),
    "json error handled": handled_absence('{"error": "not found"}'),
    "empty list": reported_absence("[]", "Ada has no open orders."),
    "empty object": reported_absence('{"orders": []}', "There are no open orders."),
    "nothing found": reported_absence("No results found.", "I found no open orders for Ada."),
    "parallel calls": parallel(),
    "polling": polling(),
    "paging": paging(),
    "filters": filters(),
    "computing": computing(),
    "asking back": asking_back("Which city do you mean?"),
    "asking back politely": asking_back("I can look that up with get_weather. Please tell me the city."),
    "foreign languages": foreign(),
    "streaming": streaming(),
    "names only": named_only(),
    "own plan": own_plan("Plan:\n1. Use web_search to find the length.\n2. Answer."),
    "own plan, announced": own_plan("Here is my plan: I will call web_search for the length, then I will answer."),
    "support": support(),
    "booked": handed_over("Booked."),
    "reported": handed_over("Table booked successfully"),
    "sorted": handed_over("confirmed"),
    "second helper": second_helper(),
    "reading by code": reading_by_code(),
}
"""By what they show. Nothing should be shown of them."""

RETRIED: Final[Mapping[str, Trace]] = {
    error: retried(error)
    for error in (
        "503 Service Unavailable",
        "429 Too Many Requests",
        "TimeoutError: timed out",
        "connection reset by peer",
        "ValueError: bad",
    )
}
"""One failure each, and a retry that works: at most one finding, not a severe one."""
