"""`/api/compare/…`, `tracejury compare` and the page over a real store: runs that fail beside runs that pass."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from html import unescape

import pytest
from click.testing import CliRunner, Result
from measured_sessions import PACK, STATES, a_value, of_session, save
from stored_readers import stored_reader
from trace_pages import SECOND, TOOL, Pages, failing_run, trace_pages

from tracejury.collector.cli.root import root
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.queries.divergence import DivergenceQuery
from tracejury.schemas.spans import STATUS_OK, Span

HOSTILE = "<b id=hit>x</b>\x1b[2J\u202e'; DROP"
TASK = "mean/7?"
FAILING, PASSING = range(1, 9), range(21, 33)


def a_trace(number: int) -> str:
    return f"{number:02x}" * 16


def a_run(number: int, *, hostile: str = "") -> list[Span]:
    """A run of the task in a session of its own: a failing one reads a file that is not there, and invents a mean."""
    spans = []
    for span in failing_run(f"What is the mean of data.csv?{hostile}", "" if number in FAILING else "3, 4 and 5"):
        attributes = {**span.attributes, "session.id": f"s{number}", "tracejury.task.id": TASK}
        later = number * 100 * SECOND
        changed = replace(
            span, trace_id=a_trace(number), attributes=attributes, start=span.start + later, end=span.end + later
        )
        if number not in FAILING and span.span_id == TOOL:
            result = {**attributes, "output.value": f"3, 4 and 5{hostile}"}
            changed = replace(changed, status_code=STATUS_OK, status_message="", events=(), attributes=result)
        spans.append(changed)
    return spans


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*(span for number in (*FAILING, *PASSING) for span in a_run(number)))
        made.put(*a_run(60, hostile=HOSTILE))
        yield made


def run(pages: Pages, *args: str) -> Result:
    return CliRunner().invoke(root, ["compare", *args, "--url", pages.url], env={"COLUMNS": "160"})


def test_two_traces_part_at_the_call_that_failed(pages: Pages) -> None:
    bad, good = a_trace(1), a_trace(21)
    found = pages.get("/api/compare/traces", first=bad[:6], second=good).json()
    assert (found["at"], found["divergence"]["difference"], found["left"]) == (0, "another outcome", 0)
    assert found["divergence"]["first"]["span_id"] == found["divergence"]["second"]["span_id"] == TOOL
    assert found["divergence"]["first"]["outcome"].startswith("failed: ")
    assert [pair["difference"] for pair in found["pairs"]] == ["another outcome", None]
    same = pages.get("/api/compare/traces", first=good, second=a_trace(22)).json()
    assert (same["divergence"], same["at"]) == (None, 2)
    shown = run(pages, bad, good)
    assert shown.exit_code == 0, shown.output
    assert "step 1: another outcome" in shown.output
    assert TOOL in shown.output
    assert json.loads(run(pages, bad, good, "--format", "json").output) == found
    assert "no difference in 2 steps" in run(pages, good, a_trace(22)).output


def test_failing_runs_of_a_task_part_from_passing_ones(pages: Pages, store: SharedStore) -> None:
    found = pages.get("/api/compare/runs", task=TASK, since="3650d").json()
    step = found["step"]
    assert (found["failing"], found["passing"], found["decided_by"]) == (8, 13, {"errors": 21})
    assert (step["tool"], step["nth"], step["kind"], step["at"]) == ("read_file", 1, "another outcome", 0)
    assert (step["failing"], step["passing"], step["lift"]["value"]) == (8, 0, 1)
    assert step["lift"]["low"] > 0.5
    assert found["looked_at"] >= 1
    assert [int(one[:2], 16) in FAILING for one in found["examples"]] == [True, False]
    told = run(pages, "--task", TASK, "--since", "3650d")
    assert told.exit_code == 0, told.output
    assert "8 of 8 failing runs and 0 of 13 passing ones: call 1 of read_file by analyst" in " ".join(
        told.output.split()
    )
    # A pack that has measured a session says whether it succeeded.
    pack = replace(PACK, success=PACK.measures[0])
    verdicts = [a_value(STATES, of_session("shop", f"s{number}"), float(number in FAILING)) for number in (1, 2, 21)]
    save(store, *verdicts, received=pages.now - SECOND)
    reader = stored_reader(store, AssemblerConfig(), lambda: pages.now, lambda: [pack])
    measured = reader.divergences.runs(DivergenceQuery(0, pages.now, TASK))
    assert (measured.failing, measured.passing, measured.decided_by) == (7, 14, {"errors": 18, "demo": 3})

    # People are heard first; who contradicts another is not.
    def say(annotator: str, *, good: bool, numbers: tuple[int, ...]) -> None:
        label = {"service": "shop", "annotator": annotator, "good": good}
        items = [{**label, "session_id": f"s{number}"} for number in numbers]
        assert pages.client.post("/api/session-labels", json={"items": items}).status_code == 200

    say("ann", good=True, numbers=(1, 2, 3, 4))
    say("ann", good=False, numbers=(21, 22, 23, 24))
    mixed = pages.get("/api/compare/runs", task=TASK, since="3650d").json()
    assert (mixed["failing"], mixed["passing"], mixed["step"]) == (8, 13, None)
    assert mixed["decided_by"] == {"errors": 13, "labels": 8}
    assert "cannot tell" in run(pages, "--task", TASK, "--since", "3650d").output
    say("bob", good=False, numbers=(1, 2))
    contested = pages.get("/api/compare/runs", task=TASK, since="3650d").json()
    assert (contested["failing"], contested["passing"]) == (8, 11)


def test_runs_with_a_pattern_part_from_those_without(pages: Pages) -> None:
    patterns = pages.get("/api/patterns", since="3650d").json()["items"]
    pattern = next(one for one in patterns if one["tools"] == ["read_file"])
    found = pages.get("/api/compare/runs", pattern=pattern["id"], since="3650d").json()
    assert found["failing"] >= 8
    assert found["decided_by"] == {"pattern": found["failing"] + found["passing"]}
    assert found["step"]["tool"] == "read_file"
    assert run(pages, "--pattern", pattern["id"], "--since", "3650d").exit_code == 0
    page = pages.get(f"/patterns/{pattern['id']}", range="30d").text
    assert f"/compare/traces?range=30d&pattern={pattern['id']}" in unescape(page)
    shown = pages.get("/compare/traces", pattern=pattern["id"], range="30d").text
    assert "call 1 of read_file" in shown
    assert f"first={found['examples'][0]}&second={found['examples'][1]}" in unescape(shown)


def test_the_page_shows_two_traces_as_plain_text(pages: Pages) -> None:
    bad, odd = a_trace(1), a_trace(60)
    trace_page = unescape(pages.get(f"/traces/{bad}").text)
    assert f"/compare/traces?first={bad}" in trace_page
    form = pages.get("/compare/traces", first=bad).text
    assert f'<option value="{a_trace(21)}">' in form
    assert f'<option value="{bad}">' not in form
    shown = pages.get("/compare/traces", first=bad, second=odd)
    assert shown.status_code == 200
    assert 'id="divergence"' in shown.text
    assert f"/traces/{bad}?span={TOOL}" in unescape(shown.text)
    assert "They were not asked the same" in shown.text
    assert pages.get("/compare/traces", task=TASK, range="30d").status_code == 200
    output = run(pages, bad, odd).output
    assert "<b id=hit>" not in shown.text
    for text in (shown.text, output):
        assert "\x1b[2J" not in text
        assert "\u202e" not in text


def test_what_cannot_be_compared_is_refused_in_one_line(pages: Pages) -> None:
    one = a_trace(1)
    assert pages.get("/api/compare/traces", first=one, second="f" * 32).status_code == 404
    assert pages.get("/api/compare/traces", first=one).status_code == 422
    assert pages.get("/api/compare/runs", task="x", pattern="y").status_code == 422
    assert pages.get("/api/compare/runs").status_code == 422
    assert pages.get("/api/compare/runs", pattern="0" * 16).status_code == 404
    assert pages.get("/compare/traces").status_code == 422
    for args in ([one], [one, one, one], [], [one, one, "--task", "x"], ["--task", "x", "--pattern", "y"]):
        refused = run(pages, *args)
        assert refused.exit_code == 2
        assert len(refused.output.splitlines()) == 1, refused.output
    assert run(pages, "--task", "unheard of", "--since", "3650d").exit_code == 2
    assert run(pages, one, "f" * 32).exit_code == 4


def told(pages: Pages, **params: str) -> set[tuple[str, str, bool]]:
    """Annotator, session and verdict of the session labels of an export."""
    lines = map(json.loads, pages.get("/api/labels/export", **params).text.splitlines())
    return {(one["annotator"], one["session_id"], one["good"]) for one in lines if one["kind"] == "session"}


def test_scores_of_others_tell_runs_apart_only_where_a_person_says_so(pages: Pages) -> None:
    """Then they come before errors and behind people's own labels; scores that contradict each other tell nothing."""
    before = pages.get("/api/compare/runs", task=TASK, since="3650d").json()
    up = [{"session_id": f"s{number}", "name": "thumbs", "value": 1} for number in FAILING]
    torn = [{"trace_id": a_trace(FAILING[0]), "name": "thumbs", "value": 0}]
    assert pages.client.post("/api/scores", json={"items": up + torn}).status_code == 200
    assert pages.get("/api/compare/runs", task=TASK, since="3650d").json() == before
    chosen = {"annotator": "ann", "name": "thumbs", "good": ">=1"}
    refused = pages.client.post("/api/score-outcomes", json={"items": [chosen | {"good": "high"}]})
    assert (refused.status_code, "'high' is no comparison such as >=1" in refused.json()["detail"]) == (422, True)
    assert pages.client.post("/api/score-outcomes", json={"items": [chosen]}).status_code == 200
    found = pages.get("/api/compare/runs", task=TASK, since="3650d").json()
    assert found["decided_by"] == {"errors": 13, "scores": len(FAILING) - 1}
    assert (found["failing"], found["passing"]) == (0, 20)
    label = {"annotator": "bob", "session_id": f"s{FAILING[1]}", "good": False}
    answer = pages.client.post("/api/session-labels", json={"items": [label]})
    assert answer.status_code == 200, answer.text
    mixed = pages.get("/api/compare/runs", task=TASK, since="3650d").json()
    assert mixed["decided_by"] == {"errors": 13, "scores": len(FAILING) - 2, "labels": 1}
    assert told(pages, scores="true") == {("bob", f"s{FAILING[1]}", False)} | {
        ("scores", f"s{number}", True) for number in FAILING[2:]
    }
    assert told(pages) == {("bob", f"s{FAILING[1]}", False)}
    assert told(pages, scores="true", session=f"s{FAILING[2]}") == {("scores", f"s{FAILING[2]}", True)}
    withdrawn = {"items": [chosen | {"withdrawn": True}]}
    assert pages.client.post("/api/score-outcomes", json=withdrawn).status_code == 200
    assert "scores" not in pages.get("/api/compare/runs", task=TASK, since="3650d").json()["decided_by"]
