"""Traces whose every text tells its reader what to do: no tool tells one of them as if it were ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hostile_traces import CALL, TOOL, TRACE, Hostile, attack, hostile_house
from mcp_clients import over_http, refusal, text_of

MARK = "window.hit"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    """A collector full of them."""
    with hostile_house(tmp_path_factory.mktemp("hostile")) as made:
        yield made


def outside(value: object, *, fenced: bool = False) -> list[str]:
    """The texts with the mark that do not stand under `quoted`."""
    if isinstance(value, dict):
        inner = [outside(item, fenced=fenced or key == "quoted") for key, item in value.items()]
        return [key for key in value if MARK in key] + [text for texts in inner for text in texts]
    if isinstance(value, list):
        return [text for item in value for text in outside(item, fenced=fenced)]
    return [value] if isinstance(value, str) and MARK in value and not fenced else []


def is_fenced(text: str) -> bool:
    """Whether all that is between the first two lines and the last one is indented, and the mark stands there alone."""
    warning, opened, *between, closed, after = text.split("\n")
    ours = f"{warning}{opened}{closed}{after}"
    return MARK not in ours and all(line.startswith(" ") for line in between)


async def test_no_text_of_a_trace_stands_outside_of_quoted(hostile: Hostile) -> None:
    """Neither in the structure nor in the text, whatever is asked; each tool tells some."""
    async with over_http(hostile.house.url) as client:
        errors = (await client.call_tool("list_errors", {"profile": "0"})).structured_content
        assert errors is not None
        error = errors["items"][0]["id"]
        service, version = attack("service"), attack("version")
        by: list[dict[str, object]] = [
            {"by": by, "profile": "0"} for by in ("service", "version", "agent", "model", "tool")
        ]
        asked: list[tuple[str, dict[str, object]]] = [
            ("list_errors", {"profile": "0"}), ("why", {"id": error}), ("trace", {"trace": TRACE}),
            ("trace", {"trace": TRACE, "span": CALL}), ("trace", {"trace": TRACE, "span": TOOL}), ("search", {}),
            *(("rates", one) for one in by),
            ("patterns", {}), ("compare", {"first": TRACE, "second": TRACE}),
            ("compare", {"version": version, "to_version": version, "service": service}),
        ]  # fmt: skip
        for tool, arguments in asked:
            found = await client.call_tool(tool, arguments)
            assert not found.is_error, text_of(found)
            assert outside(found.structured_content) == [], (tool, arguments)
            assert is_fenced(text_of(found)), (tool, arguments)
            assert MARK in text_of(found) or arguments.get("first"), (tool, arguments)
        for tool in ("list_errors", "search", "rates"):
            line = await refusal(client, tool, service="unknown")
            assert MARK in line  # the services that there are
            assert is_fenced(line)
        (content,) = (await client.read_resource(f"tracejury://traces/{TRACE}")).contents
        assert is_fenced(getattr(content, "text", ""))
