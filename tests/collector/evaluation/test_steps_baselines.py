"""Whom the baseline without rules blames for the first failed execution."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trail_folder
from terminal_traces import terminal_trace

from tracejury.collector.evaluation.steps_baselines import every_call, first_failure
from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.otlp.files import read
from tracejury.schemas.trajectory import Trace

ID = "a" * 32
FAILURES = [
    "exitcode: 1 (execution failed)\nCode output: no such file",
    '{"exit_code": 1, "output": "no such file"}',
    "Process exited with code 127",
    'Traceback (most recent call last):\n  File "x.py", line 1',
    "Error: no such file",
]


@pytest.fixture
def rebuild(tmp_path: Path) -> Any:
    """A trace of TRAIL's form, rebuilt."""

    def one(document: dict[str, Any]) -> Trace:
        path = tmp_path / "trace.json"
        path.write_text(json.dumps(document))
        received = stored(source.request for source in read([path]))
        (trace,) = received.traces()
        return trace

    return one


@pytest.mark.parametrize("failure", FAILURES)
def test_the_writer_is_blamed_for_what_the_terminal_ran(rebuild: Any, failure: str) -> None:
    """The code that failed first is of the second call; the run is the writer's."""
    (claim,) = first_failure(rebuild(terminal_trace(ID, "exitcode: 0\nok", failure, failure)))
    assert (claim.span, claim.agent) == (f"{21:016x}", "writer")
    assert claim.spans == {claim.span}


@pytest.mark.parametrize("outcome", ["exitcode: 0 (execution succeeded)", "Exit 12 is closed", "10 errors were mended"])
def test_nobody_is_blamed_where_nothing_failed(rebuild: Any, outcome: str) -> None:
    assert list(first_failure(rebuild(terminal_trace(ID, outcome)))) == []


def test_the_code_decides_between_calls(rebuild: Any) -> None:
    """A later call in between, which wrote something else, is not the author."""
    document = terminal_trace(ID, "ok", "exitcode: 1")
    first, terminal = document["spans"][0]["child_spans"][:2], document["spans"][0]["child_spans"][3]
    tool = terminal["child_spans"][0]["span_attributes"]
    tool["input.value"] = first[1]["child_spans"][0]["span_attributes"]["input.value"]
    (claim,) = first_failure(rebuild(document))
    assert claim.span == f"{11:016x}"


def test_a_call_that_an_llm_asked_for_is_its_own(rebuild: Any) -> None:
    (claim,) = first_failure(rebuild(trail_folder.trace(ID)))
    assert claim.span == f"{3:016x}"


def test_every_llm_call_is_flagged(rebuild: Any) -> None:
    assert {c.span for c in every_call(rebuild(trail_folder.trace(ID)))} == {f"{n:016x}" for n in (2, 3, 5)}
