"""Arguments that are no JSON, and that a framework passed on as the text of one argument: the call runs, and errs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from trace_pages import CALL, MANAGER, TOOL, a_span, llm

from tracejury.judges.grouping import group
from tracejury.judges.registry import suite_of
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.profiles import threshold

TASK = [("user", "How long is the Alder Bridge?")]
QUERY = {"query": {"type": "string", "description": "what to look for"}}


def shown(asked: str, recorded: str, result: str = "The Alder Bridge is 312 metres long.") -> list[tuple[str, str]]:
    """Judge and span of each error of a run whose model writes `asked`, of which the tool's span has `recorded`."""
    answer = [*TASK, ("assistant", ""), ("tool", result)]
    spans = [
        a_span(MANAGER, "", "AGENT", "assistant", 0, 20, attributes={"output.value": result}),
        llm(CALL, MANAGER, 1, TASK, "", search=asked),
        a_span(
            TOOL, MANAGER, "TOOL", "search", 3, 1,
            attributes={
                "tool.name": "search", "tool.parameters": json.dumps(QUERY), "input.value": recorded,
                "output.value": result,
            },
        ),
        llm(f"{9:016x}", MANAGER, 5, answer, result),
    ]  # fmt: skip
    trace = rebuild([normalize(span) for span in spans])
    found = [f for f in suite_of(()).judge(trace).findings if f.confidence >= threshold("balanced")]
    return [(error.lead.judge, error.lead.span_id) for error in group(found, [run.id for run in trace.runs])]


@pytest.mark.parametrize(
    "record",
    [
        lambda text: json.dumps({"args": [text], "sanitize_inputs_outputs": True, "kwargs": {}}),
        lambda text: json.dumps({"query": text}),
    ],
)
@pytest.mark.parametrize("asked", ['{"query": "Alder', '{"query": "Alder Bridge"', '{"query": Alder Bridge}'])
def test_a_tool_that_was_given_the_text_of_its_arguments_is_one_error(asked: str, record: Callable[[str], str]) -> None:
    """At the step that wrote them, although the tool answered."""
    assert shown(asked, record(asked)) == [("malformed-arguments", CALL)]


@pytest.mark.parametrize(
    ("asked", "recorded"),
    [
        ('{"query": "Alder Bridge"}', {"args": [], "kwargs": {"query": "Alder Bridge"}}),
        ('{"query": "{\\"query\\": \\"Alder"}', {"args": ['{"query": "Alder'], "kwargs": {}}),
        ('{"query": "Alder', {"query": "Alder"}),
        ("{ Alder Bridge }", {"query": "{ Alder Bridge }"}),
        ("Alder Bridge", {"query": "Alder Bridge"}),
    ],
    ids=["whole", "text that opens an object", "repaired by the framework", "free form", "bare"],
)
def test_what_the_tool_was_meant_to_be_given_is_no_error(asked: str, recorded: object) -> None:
    assert shown(asked, json.dumps(recorded)) == []
