"""The runs of the demo program: one healthy, the others each with one fault of the kinds that agents really make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .agents import Reply

RESEARCHER = "researcher"


@dataclass(frozen=True, slots=True)
class Run:
    """A task, what both models say, and the fault (what a reader should find; "" for none)."""

    title: str
    fault: str
    task: str
    manager: Sequence[Reply]
    researcher: Sequence[Reply]
    search_is_down: bool = False


def ask(task: str, text: str = "") -> Reply:
    """The manager hands a task to the researcher."""
    return Reply(text, [(RESEARCHER, {"task": task})])


def search(query: str, text: str = "") -> Reply:
    """The researcher looks for articles."""
    return Reply(text, [("search", {"query": query})])


def read(article: str, text: str = "") -> Reply:
    """The researcher reads an article."""
    return Reply(text, [("read_article", {"article": article})])


PLAN_COMPARE = Reply(
    "1. Ask researcher for both lengths.\n2. Use calculate for the difference.\n3. Answer with the difference."
)
PLAN_LOOK_UP = Reply("1. Ask researcher to look the article up.\n2. Answer with what it found.")
PLAN_RESEARCH = Reply(
    "1. Use search to find the article.\n2. Use read_article to get its text.\n3. Report what it says."
)

HEALTHY = Run(
    title="healthy run",
    fault="",
    task="How much longer is the Alder Bridge than the Birch Bridge, in metres?",
    manager=(
        PLAN_COMPARE,
        ask("Find the lengths of the Alder Bridge and the Birch Bridge in metres."),
        Reply("Both lengths are known now.", [("calculate", {"expression": "312 - 268"})]),
        Reply("The Alder Bridge is 44 metres longer than the Birch Bridge."),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Alder Birch Bridge"),
        read("Alder Bridge"),
        read("Birch Bridge"),
        Reply("Alder Bridge: Length: 312 metres. Birch Bridge: Length: 268 metres."),
    ),
)

WRONG_ARGUMENTS = Run(
    title="wrong arguments",
    fault="a tool is called with an argument that its schema does not have",
    task="In which year did the Cedar Tunnel open?",
    manager=(
        PLAN_LOOK_UP,
        ask("Find the year in which the Cedar Tunnel opened."),
        Reply("The Cedar Tunnel opened in 1902."),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Cedar Tunnel"),
        Reply("", [("read_article", {"title": "Cedar Tunnel", "page": "one"})]),
        read("Cedar Tunnel", "The argument is named article. I call read_article again with it."),
        Reply("The Cedar Tunnel: Opened in 1902."),
    ),
)

HAMMERING = Run(
    title="hammering on a failing tool",
    fault="the same failing call again and again, without another plan",
    task="How many arches does the Dell Viaduct have?",
    manager=(
        PLAN_LOOK_UP,
        ask("Find the number of arches of the Dell Viaduct."),
        Reply("I could not find out how many arches the Dell Viaduct has: the almanac's search is unavailable."),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Dell Viaduct"),
        search("Dell Viaduct"),
        search("Dell Viaduct"),
        search("Dell Viaduct"),
        Reply("I could not find the number of arches: search failed every time (503 Service Unavailable)."),
    ),
    search_is_down=True,
)

INVENTED = Run(
    title="invented answer",
    fault="the look-up failed, and the answer is made up as if it had not",
    task="Who designed the Dell Viaduct, and what did it cost?",
    manager=(
        PLAN_LOOK_UP,
        ask("Find the designer and the cost of the Dell Viaduct."),
        Reply("The Dell Viaduct was designed by Edmund Harcourt and cost 84,000 crowns."),
    ),
    researcher=(
        PLAN_RESEARCH,
        search("Dell Viaduct"),
        Reply(
            "Based on the search results, the Dell Viaduct was designed by Edmund Harcourt, "
            "and its construction cost 84,000 crowns."
        ),
    ),
    search_is_down=True,
)

FROM_MEMORY = Run(
    title="planned look-up skipped",
    fault="the plan names search and read_article; neither is called, and the answer comes from memory",
    task="How much longer is the Cedar Tunnel than the Dell Viaduct, in metres?",
    manager=(
        PLAN_COMPARE,
        ask("Find the lengths of the Cedar Tunnel and the Dell Viaduct in metres."),
        Reply("Both lengths are known now.", [("calculate", {"expression": "1600 - 500"})]),
        Reply("The Cedar Tunnel is 1100 metres longer than the Dell Viaduct."),
    ),
    researcher=(
        PLAN_RESEARCH,
        Reply("From memory, I assume that the Cedar Tunnel is about 1600 metres long and the Dell Viaduct about 500."),
    ),
)

RUNS = (HEALTHY, WRONG_ARGUMENTS, HAMMERING, INVENTED, FROM_MEMORY)
