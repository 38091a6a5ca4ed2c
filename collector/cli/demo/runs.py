"""The runs of the demo program: one healthy, the others each with one fault of the kinds that agents really make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .agents import ScriptedReply

RESEARCHER = "researcher"


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A task, what both models say, and the fault (what a reader should find; "" for none)."""

    title: str
    fault: str
    task: str
    manager: Sequence[ScriptedReply]
    researcher: Sequence[ScriptedReply]
    search_is_down: bool = False


def ask(task: str, text: str = "") -> ScriptedReply:
    """The manager hands a task to the researcher."""
    return ScriptedReply(text, [(RESEARCHER, {"task": task})])


def search(query: str, text: str = "") -> ScriptedReply:
    """The researcher looks for articles."""
    return ScriptedReply(text, [("search", {"query": query})])


def read(article: str, text: str = "") -> ScriptedReply:
    """The researcher reads an article."""
    return ScriptedReply(text, [("read_article", {"article": article})])


PLAN_COMPARE = ScriptedReply(
    "1. Ask researcher for both lengths.\n2. Use calculate for the difference.\n3. Answer with the difference."
)
PLAN_LOOK_UP = ScriptedReply("1. Ask researcher to look the article up.\n2. Answer with what it found.")
PLAN_RESEARCH = ScriptedReply(
    "1. Use search to find the article.\n2. Use read_article to get its text.\n3. Report what it says."
)

HEALTHY = DemoRun(
    title="healthy",
    fault="",
    task="How much longer is the Alder Bridge than the Birch Bridge, in metres?",
    manager=(
        PLAN_COMPARE,
        ask("Find the lengths of the Alder Bridge and the Birch Bridge in metres."),
        ScriptedReply("Both lengths are known now.", [("calculate", {"expression": "312 - 268"})]),
        ScriptedReply("The Alder Bridge is 44 metres longer than the Birch Bridge."),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Alder Birch Bridge"),
        read("Alder Bridge"),
        read("Birch Bridge"),
        ScriptedReply("Alder Bridge: Length: 312 metres. Birch Bridge: Length: 268 metres."),
    ),
)

WRONG_ARGUMENTS = DemoRun(
    title="wrong arguments",
    fault="a tool is called with an argument that its schema does not have",
    task="In which year did the Cedar Tunnel open?",
    manager=(
        PLAN_LOOK_UP,
        ask("Find the year in which the Cedar Tunnel opened."),
        ScriptedReply("The Cedar Tunnel opened in 1902."),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Cedar Tunnel"),
        ScriptedReply("", [("read_article", {"title": "Cedar Tunnel", "page": "one"})]),
        read("Cedar Tunnel", "The argument is named article. I call read_article again with it."),
        ScriptedReply("The Cedar Tunnel: Opened in 1902."),
    ),
)

HAMMERING = DemoRun(
    title="hammering on a failing tool",
    fault="the same failing call again and again, without another plan",
    task="How many arches does the Dell Viaduct have?",
    manager=(
        PLAN_LOOK_UP,
        ask("Find the number of arches of the Dell Viaduct."),
        ScriptedReply(
            "I could not find out how many arches the Dell Viaduct has: the almanac's search is unavailable."
        ),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Dell Viaduct"),
        search("Dell Viaduct"),
        search("Dell Viaduct"),
        search("Dell Viaduct"),
        ScriptedReply("I could not find the number of arches: search failed every time (503 Service Unavailable)."),
    ),
    search_is_down=True,
)

INVENTED = DemoRun(
    title="invented answer",
    fault="the look-up failed, and the answer is made up as if it had not",
    task="Who designed the Dell Viaduct, and what did it cost?",
    manager=(
        PLAN_LOOK_UP,
        ask("Find the designer and the cost of the Dell Viaduct."),
        ScriptedReply("The Dell Viaduct was designed by Edmund Harcourt and cost 84,000 crowns."),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Dell Viaduct"),
        ScriptedReply(
            "Based on the search results, the Dell Viaduct was designed by Edmund Harcourt, "
            "and its construction cost 84,000 crowns."
        ),
    ),
    search_is_down=True,
)

FROM_MEMORY = DemoRun(
    title="planned look-up skipped",
    fault="the plan names search and read_article; neither is called, and the answer comes from memory",
    task="How much longer is the Cedar Tunnel than the Dell Viaduct, in metres?",
    manager=(
        PLAN_COMPARE,
        ask("Find the lengths of the Cedar Tunnel and the Dell Viaduct in metres."),
        ScriptedReply("Both lengths are known now.", [("calculate", {"expression": "1600 - 500"})]),
        ScriptedReply("The Cedar Tunnel is 1100 metres longer than the Dell Viaduct."),
    ),
    researcher=(
        PLAN_RESEARCH,
        ScriptedReply(
            "From memory, I assume that the Cedar Tunnel is about 1600 metres long and the Dell Viaduct about 500."
        ),
    ),
)

RUNS = (HEALTHY, WRONG_ARGUMENTS, HAMMERING, INVENTED, FROM_MEMORY)
