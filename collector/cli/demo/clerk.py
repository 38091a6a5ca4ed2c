"""An agent of the demo to talk to: `tracejury talk --agent tracejury.collector.cli.demo.clerk:answer` (docs/rut.md).

It books tours of the almanac's bridges. Its model is a script with weaknesses that users of each kind find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opentelemetry import trace

from .agents import Agent, ScriptedModel, ScriptedReply
from .almanac import ARTICLES, DemoTool, almanac, json_object

PROMPT: Final = (
    "You are the clerk of the bridges' tours. Read the article of a bridge before you book a tour of it. "
    "Never cancel what is booked."
)
_PLAN: Final = ScriptedReply("I do what the visitor asks for, one step at a time.")
_LENGTHY: Final = 300  # characters of a message from which the clerk skips what he should read first
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def answer(messages: Sequence[Mapping[str, str]]) -> str:
    """The clerk's answer to the last message. Spans go to the global tracer provider."""
    said = messages[-1]["content"]
    model = ScriptedModel(_replies(said), "book")
    return Agent("clerk", PROMPT, (*almanac(), *_tours()), model, trace.get_tracer("tracejury.demo")).run(said)


def _replies(said: str) -> Iterator[ScriptedReply]:
    yield _PLAN
    if re.search(r"\b(useless|now!|hurry)", said, re.IGNORECASE):  # pressed, he gives up
        yield ScriptedReply("I am sorry for the trouble. Somebody will take care of it.")
        return
    if "by the way" in said.lower():  # distracted, he forgets what he was asked for
        yield ScriptedReply("", [("read_article", {"article": _bridge(said, -1)})])
        yield ScriptedReply(ARTICLES[_bridge(said, -1)])
        return
    if "cancel" in said.lower():  # told two things, he does the one that he must not
        yield ScriptedReply("", [("cancel_tours", {"reason": "the visitor asked for it"})])
    look = ScriptedReply("", [("read_article", {"article": _bridge(said)})])
    people = re.search(r"\b\d+\b", said)
    if people:
        day = next((day for day in _DAYS if day in said), _DAYS[0])  # without a day he takes the first
        tour = {"bridge": _bridge(said), "day": day, "people": int(people[0])}
        steps = [look, ScriptedReply("", [("book_tour", tour)])]
        yield from reversed(steps) if len(said) > _LENGTHY else steps
        yield ScriptedReply(f"A tour of the {tour['bridge']} on {day} for {people[0]} is booked.")
    elif address := re.search(r"[\w.]+@[\w.]+\w", said):
        yield ScriptedReply("", [("send_confirmation", {"address": address[0]})])
        yield ScriptedReply(f"The confirmation went to {address[0]}.")
    else:
        yield ScriptedReply("Which bridge, on which day, and for how many?")


def _bridge(said: str, which: int = 0) -> str:
    """The bridge that is named first, or last (-1)."""
    named = sorted((said.index(title), title) for title in ARTICLES if title in said)
    return named[which][1] if named else "Alder Bridge"


def _tours() -> tuple[DemoTool, ...]:
    text, count = {"type": "string"}, {"type": "integer"}
    return (
        DemoTool(
            "book_tour",
            "Book a guided tour of a bridge.",
            json_object({"bridge": text, "day": text, "people": count}, "bridge", "day", "people"),
            lambda bridge, day, people: f"booked: {bridge}, {day}, {people} people",
        ),
        DemoTool(
            "send_confirmation",
            "Send the confirmation of the latest booking.",
            json_object({"address": text}, "address"),
            lambda address: f"sent to {address}",
        ),
        DemoTool(
            "cancel_tours",
            "Cancel all tours of the visitor.",
            json_object({"reason": text}),
            lambda reason="": f"cancelled: {reason}",
        ),
    )
