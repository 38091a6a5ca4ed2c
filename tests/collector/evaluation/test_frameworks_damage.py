"""The rungs of the ladder: what each destroys, what it leaves, and that the measure sees what is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from framework_folder import run_spans, truth, write

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.frameworks.capture import Capture, load, paths
from tracejury.collector.evaluation.frameworks.damage.ladder import climb, evaluate_damage
from tracejury.collector.evaluation.frameworks.damage.ladder_report import as_json, rows
from tracejury.collector.evaluation.frameworks.damage.measure import DamagedCapture
from tracejury.collector.evaluation.frameworks.damage.recording import Recording, recording
from tracejury.collector.evaluation.frameworks.damage.rungs import RUNGS, Rung
from tracejury.collector.evaluation.frameworks.rebuilt import decoded, from_batches
from tracejury.judges.suite import Suite
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import Span

RUNG = {rung.name: rung for rung in RUNGS}
MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages")


@pytest.fixture(name="capture")
def _capture(tmp_path: Path) -> Capture:
    """A manager that has a researcher search; its calls have ids that stand nowhere else."""
    spans = run_spans()
    for span in spans:
        for attribute in span.attributes:
            value = attribute.value.string_value
            attribute.value.string_value = value.replace('"c1"', '"call-ask-1"').replace('"c2"', '"call-search-2"')
            if value in {"c1", "c2"}:
                attribute.value.string_value = {"c1": "call-ask-1", "c2": "call-search-2"}[value]
    (found,) = load(paths(write(tmp_path, truth(), spans)))
    return found


@pytest.fixture(name="recorded")
def _recorded(capture: Capture) -> Recording:
    batches, _ = decoded(capture.requests)
    return recording(batches, from_batches(batches, Suite([])).traces)


def damaged(name: str, recorded: Recording) -> Batch:
    """The capture on that rung."""
    batch = RUNG[name].damage(recorded)
    assert batch is not None
    return batch


def left(capture: Capture, *rungs: Rung) -> list[DamagedCapture]:
    """What is left on these rungs."""
    return [found for _, found in climb(capture, Suite([]), rungs)]


def said(spans: Iterable[Span]) -> str:
    """All texts of spans."""
    return "\n".join(
        v for s in spans for v in (*s.attributes.values(), *(t for e in s.events for t in e.attributes.values()))
    )


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_a_rung_is_a_pure_function(rung: Rung, recorded: Recording) -> None:
    """It applies to this capture, gives the same each time, changes something, and leaves the recording as it was."""
    before = recorded.raw
    batch = rung.damage(recorded)
    assert batch is not None
    assert batch == rung.damage(recorded)
    assert recorded.raw == before
    assert (tuple(batch.spans) != before) == (rung.name != "undamaged")


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_nothing_is_left_of_nothing(rung: Rung) -> None:
    """A capture without a span is damaged by no rung, and by none with a crash."""
    assert not rung.damage(Recording((), (), ()))


@pytest.mark.parametrize(
    ("name", "lost", "left_over"),
    [
        ("agent spans dropped", "invoke_agent", 6),
        ("tool spans dropped", "execute_tool", 6),
        ("roots dropped", "invoke_agent manager", 7),
    ],
)
def test_lost_spans_leave_the_ids_of_parents(name: str, lost: str, left_over: int, recorded: Recording) -> None:
    """Nothing but those spans is gone."""
    batch = damaged(name, recorded)
    assert len(batch.spans) == left_over
    assert not any(span.name.startswith(lost) for span in batch.spans)
    assert all(span in recorded.raw for span in batch.spans)


def test_no_parent_of_a_dangling_span_comes(recorded: Recording) -> None:
    """Siblings still share the id of one that never comes; the root has none, as before."""
    spans = damaged("parents dropped", recorded).spans
    ids = {span.span_id for span in spans}
    assert not ids & {span.parent_span_id for span in spans}
    assert len({span.parent_span_id for span in spans}) == len({span.parent_span_id for span in recorded.raw})


def test_a_parent_in_another_trace_is_there(recorded: Recording) -> None:
    """It stands in a trace that comes, which is not the span's."""
    spans = damaged("parent in another trace", recorded).spans
    trace_of = {span.span_id: span.trace_id for span in spans}
    elsewhere = [s for s in spans if trace_of.get(s.parent_span_id, s.trace_id) != s.trace_id]
    assert [s.span_id for s in elsewhere] == [f"{n:016x}" for n in (2, 3, 8)]


def test_calls_hang_below_the_call_before(recorded: Recording) -> None:
    """Of their own run only."""
    parents = {s.span_id: s.parent_span_id for s in damaged("LLM spans below their predecessor", recorded).spans}
    assert [parents[f"{n:016x}"] for n in (2, 5, 7, 8)] == [f"{n:016x}" for n in (1, 4, 5, 2)]


def test_each_span_is_a_root_of_its_own(recorded: Recording) -> None:
    """A session is all that ties them."""
    spans = damaged("a trace for each span, one session", recorded).spans
    assert len({span.trace_id for span in spans}) == len(spans)
    assert not any(span.parent_span_id for span in spans)
    assert len({span.attributes["session.id"] for span in spans}) == 1


def test_copies_have_ids_of_their_own(recorded: Recording) -> None:
    """Or the same; a copy's parent is a copy."""
    assert len({s.span_id for s in damaged("exported twice, same ids", recorded).spans}) == len(recorded.spans)
    spans = damaged("exported twice, new ids", recorded).spans
    ids = {span.span_id for span in spans}
    assert len(ids) == 2 * len(recorded.spans)
    assert {span.parent_span_id for span in spans} <= {*ids, ""}


def test_no_id_of_a_call_is_left(recorded: Recording) -> None:
    """Neither as an attribute nor in a message; all else is."""
    batch = damaged("no call ids", recorded)
    assert "call-search-2" in said(recorded.raw)
    assert "call-" not in said(batch.spans)
    assert "length of the Rhine in km" in said(batch.spans)


@pytest.mark.parametrize(
    ("name", "told"), [("content in span events", 6), ("content in log records", 6), ("log records alone", 4)]
)
def test_content_stands_beside_the_attributes(name: str, told: int, recorded: Recording) -> None:
    """All of it, and only there: of each call, and of each run but with log records alone."""
    batch = damaged(name, recorded)
    events = [event.attributes for span in batch.spans for event in span.events]
    beside = [*events, *(log.attributes for log in batch.logs)]
    assert not any(key in span.attributes for span in batch.spans for key in MESSAGES)
    assert sum(key in attributes for attributes in beside for key in MESSAGES) == 2 * told


@pytest.mark.parametrize(
    ("name", "call", "result"),
    [
        ("calls as text, ReAct", 'Action: search\nAction Input: {"query": ', "Observation: 1230 km"),
        ("calls as text, tags", '<tool_call>\n{"name": "search", ', "<tool_response>\n1230 km"),
        ("calls as text, JSON", '```json\n{"action": "search", ', "Result of search: 1230 km"),
    ],
)
def test_calls_are_written_and_retold(name: str, call: str, result: str, recorded: Recording) -> None:
    """The reply asks, the next prompt holds that reply and its result; nothing else tells of tools or agents."""
    spans = {span.span_id: span for span in damaged(name, recorded).spans}
    first, second = (spans[f"{n:016x}"].attributes for n in (5, 7))
    ((_, reply),) = ((m["role"], m["parts"][0]["content"]) for m in json.loads(first[MESSAGES[1]]))
    ((role, prompt),) = ((m["role"], m["parts"][0]["content"]) for m in json.loads(second[MESSAGES[0]]))
    assert call in reply
    assert role == "user"
    assert reply + "\n" + result in prompt
    assert "tool_call_response" not in said(spans.values())
    assert {span.name for span in spans.values()} == {"episode", "chat"}


def test_the_whole_is_all_right(capture: Capture) -> None:
    """Undamaged, nothing is lost."""
    (found,) = left(capture, RUNG["undamaged"])
    assert (found.calls.right, found.calls.n) == (2, 2)
    assert (found.turns.right, found.turns.n) == (4, 4)
    assert (found.outside.right, found.outside.n, found.faults) == (0, 6, ())


def _no_researcher(of: Recording) -> Batch:
    """The researcher's calls are gone, and the manager's first."""
    return Batch([span for span in of.raw if span.span_id[-1] in "1348"])


def test_what_is_lost_is_measured(capture: Capture) -> None:
    """Turns that are gone are missing turns; a call that nothing tells of any more is no missing call."""
    (found,) = left(capture, Rung("", _no_researcher))
    assert (found.turns.right, found.turns.n) == (1, 4)
    assert (found.calls.right, found.calls.n) == (1, 1)


def _searched_again(of: Recording) -> Batch:
    """Another execution of the search that nobody asked for."""
    (search,) = (span for span in of.raw if span.name == "execute_tool search")
    attributes = {**search.attributes, "gen_ai.tool.call.id": "call-search-3"}
    return Batch([*of.raw, replace(search, span_id="f" * 16, start=search.start + 1, attributes=attributes)])


def test_a_call_too_many_counts(capture: Capture) -> None:
    """Three for two are two of three."""
    (found,) = left(capture, Rung("", _searched_again))
    assert (found.calls.right, found.calls.n, found.calls.lost) == (2, 3, ("one too many",))


def test_the_table_and_the_json(capture: Capture, tmp_path: Path) -> None:
    """Every rung is a line, with how many captures it does not apply to."""
    e = evaluate_damage(tmp_path)
    assert [row.rung.name for row in rows(e)] == [rung.name for rung in RUNGS]
    assert {row["rung"]: row["not_applicable"] for row in as_json(e)["rungs"]} == dict.fromkeys(RUNG, 0)
    shown = CliRunner().invoke(root, ["evaluate", "frameworks", str(tmp_path), "--damage"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert all(name in shown.output for name in RUNG)
    refused = CliRunner().invoke(root, ["evaluate", "frameworks", str(tmp_path), "--damage", "--shuffle", "1"])
    assert "--shuffle" in refused.output
    assert refused.exit_code == 2
    assert capture.id == "some/S1"
