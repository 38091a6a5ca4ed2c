"""The demo program's tools: a small almanac of invented bridges, and a calculator. They run for real, and fail so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

ARTICLES: Mapping[str, str] = {
    "Alder Bridge": "The Alder Bridge spans the Linn near Harrowby. Length: 312 metres. Opened in 1934.",
    "Birch Bridge": "The Birch Bridge is a suspension bridge at Corran. Length: 268 metres. Opened in 1971.",
    "Cedar Tunnel": "The Cedar Tunnel carries the valley line under Mount Orne. Length: 1840 metres. Opened in 1902.",
    "Dell Viaduct": "The Dell Viaduct has nineteen arches of local stone. Length: 455 metres. Opened in 1888.",
}


@dataclass(frozen=True, slots=True)
class DemoTool:
    """A function that a model may ask for, with its JSON schema. `run` takes the arguments and gives text."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., str]

    @property
    def schema(self) -> Mapping[str, object]:
        """The definition as a model is given it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


def almanac(*, down: bool = False) -> tuple[DemoTool, ...]:
    """The researcher's tools; `down`: the search service is not available."""
    return (
        DemoTool(
            "search",
            "Find articles of the almanac by words of their titles.",
            json_object({"query": {"type": "string"}, "limit": {"type": "integer"}}, "query"),
            search_down if down else search,
        ),
        DemoTool(
            "read_article",
            "The text of one article, by its exact title.",
            json_object({"article": {"type": "string"}}, "article"),
            read_article,
        ),
    )


def search(query: str, limit: int = 3) -> str:
    """Titles that share a word with the query."""
    words = set(query.lower().split())
    found = [title for title in ARTICLES if words & set(title.lower().split())]
    return "Articles: " + ", ".join(found[:limit]) if found else "No articles match."


def search_down(query: str, limit: int = 3) -> str:
    """The same while its service is down. Raises ConnectionError."""
    raise ConnectionError(f"503 Service Unavailable: no answer to {query!r} ({limit} wanted)")


def read_article(article: str) -> str:
    """The article's text. Raises KeyError for an unknown title."""
    return ARTICLES[article]


def calculator() -> DemoTool:
    """The manager's tool."""
    return DemoTool(
        "calculate",
        "The value of a sum or a difference of two whole numbers.",
        json_object({"expression": {"type": "string"}}, "expression"),
        calculate,
    )


def calculate(expression: str) -> str:
    """`a + b` or `a - b`. Raises ValueError for anything else."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*([+-])\s*(\d{1,9})\s*", expression)
    if match is None:
        raise ValueError(f"cannot calculate {expression!r}")
    left, right = int(match[1]), int(match[3])
    return str(left + right if match[2] == "+" else left - right)


def delegate(name: str, description: str, run: Callable[..., str]) -> DemoTool:
    """A sub-agent as a tool of its manager."""
    return DemoTool(name, description, json_object({"task": {"type": "string"}}, "task"), run)


def json_object(properties: Mapping[str, Any], *required: str) -> Mapping[str, Any]:
    """The JSON schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
