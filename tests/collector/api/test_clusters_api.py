"""`/api/clusters`, its page, `tracejury clusters` and `tracejury fixes` over a real store and a scripted model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from listed_traces import SECOND, Listed, Mark
from llm_scripts import Play
from llm_server import LlmServer, llm_server
from measured_sessions import PACK
from naming_models import named_by
from served_api import NOW, served
from store_parts import a_span
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.cli.root import root
from tracejury.collector.queries import clusters
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

HOUR = 3_600 * SECOND
HOSTILE = "<b>x</b>\x1b[2J\u202e"
SCHEMA = {
    "type": "object",
    "required": ["day"],
    "properties": {
        "day": {"type": "string", "format": "date"},
        "class": {"type": ["string", "null"], "enum": ["eco", HOSTILE]},
        "odd": 7,
    },
}


class Clock:
    """Of API and reader."""

    now = NOW

    def __call__(self) -> int:
        return self.now


def put(
    store: SharedStore, number: int, text: str, *, tool: str = "search", ago: int = HOUR, judge: str = "j", **more: Any
) -> str:
    """A trace with one error at its call of a tool, first seen then; its id."""
    mark = Mark(at_tool=True, explanation=text, category="Timeout Issues", judge=judge, confidence=0.7)
    one = Listed(number, tool=tool, marks=(mark,), received=NOW - ago, session=f"s{number % 3}", **more)
    found = tuple(replace(finding, first_seen=NOW - ago) for finding in one.judged.judgement.findings)
    judged = replace(one.judged, changed=found, judgement=replace(one.judged.judgement, findings=found))
    StoredJudging(store).save([judged])
    described = {"llm.tools.0.tool.json_schema": json.dumps({"function": {"name": tool, "parameters": SCHEMA}})}
    asked = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.content": "go",
        "task_id": "t1",
        **described,
    }
    call = {"openinference.span.kind": "TOOL", "tool.name": tool, "session.id": "s"}
    spans = [
        a_span(trace_id=one.trace_id, span_id="a" * 16, attributes=asked),
        a_span(trace_id=one.trace_id, span_id="b" * 16, parent_span_id="a" * 16, name=tool, attributes=call),
    ]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, NOW - ago))
    return one.trace_id


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url(store: SharedStore, clock: Clock) -> Iterator[str]:
    reader = stored_reader(store, AssemblerConfig(), clock, lambda: [PACK])
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=clock))
    with served(app) as url:
        yield url


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """Labels by the first word of the reason, and merges what has one label."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    answer = named_by(lambda _, text: text.split(": ")[1].split()[0], lambda _, label: f"{label} type")
    with llm_server(lambda call: Play(text=answer(call.prompt))) as server:
        yield server


def run(url: str, *args: str) -> Result:
    return CliRunner().invoke(root, [*args], env={"TRACEJURY_URL": url, "COLUMNS": "200"})


def told(url: str, **params: str) -> dict[str, Any]:
    answer = httpx.get(f"{url}/api/clusters", params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def counts(page: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int, int]]:
    return {(c["name"], c["tool"]): (c["errors"], c["sessions"], c["before"]) for c in page["items"]}


def test_a_model_names_kinds_once_and_a_second_day_keeps_the_names(
    store: SharedStore, url: str, clock: Clock, model: LlmServer, tmp_path: Path
) -> None:
    for number in range(1, 7):
        put(store, number, f"late by {number} minutes")
    for number in range(7, 10):
        put(store, number, f"late by {number} minutes", tool="book")
    put(store, 10, f"{HOSTILE} shown", tool="book")
    by = ["--model", "openai/scripted", "--api-base", model.base]
    named = run(url, "clusters", *by)
    assert (named.exit_code, model.counts.calls) == (0, 2), named.output
    assert "10 groups named, as 3 types" in named.stderr
    assert "\x1b[2J" not in named.output
    page = told(url)
    assert counts(page) == {
        ("late type (search)", "search"): (6, 3, 0),
        ("late type (book)", "book"): (3, 3, 0),
        ("<b>x</b>[2J type (book)", "book"): (1, 1, 0),
    }
    assert (page["errors"], page["single"], page["sampled"], page["left"]) == (10, 0, None, 0)
    assert {one["named"] for one in page["items"]} == {True}

    clock.now += 20 * HOUR
    put(store, 20, "late by 1 minutes", ago=-18 * HOUR)
    put(store, 21, "late by 21 minutes", ago=-18 * HOUR)
    assert told(url, since="12h")["single"] == 1, "a new text has no name yet, and the known one needs no model"
    assert run(url, "clusters", *by).exit_code == 0
    assert model.counts.calls == 4, "only the new text is asked about, and joins the type that there is"
    assert counts(told(url, since="12h")) == {("late type (search)", "search"): (2, 2, 6)}
    html = httpx.get(f"{url}/clusters").text
    assert "late type (search)" in html
    assert "<b>x" not in html

    file = tmp_path / "clusters.json"
    file.write_text(run(url, "clusters", "--format", "json").stdout)
    assert json.loads(file.read_text())["tools"] == {"search": SCHEMA, "book": SCHEMA}
    fixes = {kind: run(url, "fixes", str(file), "--as", kind, "--author", "Ada") for kind in KINDS}
    assert {kind: fix.exit_code for kind, fix in fixes.items()} == dict.fromkeys(KINDS, 0)
    for kind, fix in fixes.items():
        assert "1. late type (search)" in fix.stdout
        assert f"tracejury.fix.id={kind}-" in fix.stderr
        assert "\x1b" not in fix.stdout
        assert "\u202e" not in fix.stdout
    assert "Author: Ada" in fixes["notes"].stdout
    assert "Author" not in fixes["insert"].stdout
    checklist = json.loads(run(url, "fixes", str(file), "--as", "checklist", "--format", "json").stdout)
    assert [turn["role"] for turn in checklist["messages"]] == ["user", "user"]
    assert checklist["messages"][1]["content"].splitlines()[1:5] == [
        "Tool book:",
        "- day: required, of type string, format date",
        '- class: optional, of type string or null, one of "eco", "<b>x</b>\\u001b[2J"',
        "- odd: optional",
    ]
    TraceDeleter(store, "", lambda: NOW).delete(
        [store.rows("SELECT TraceId FROM cluster_names LIMIT 1")[0][0]], NOW, labels=False, until=0
    )
    assert store.rows("SELECT count(), uniqExact(TraceId) FROM cluster_names FINAL") == [(11, 11)]


KINDS = ("insert", "notes", "checklist")


def test_filters_the_time_before_and_the_sample(store: SharedStore, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 13):
        put(store, number, "the same reason", service="a" if number < 6 else "b")
    for number in range(13, 19):
        put(store, number, "the same reason", ago=30 * HOUR)
    put(store, 19, "the same reason", judge=f"{PACK.name}-x", ago=2 * HOUR)
    put(store, 20, "the same reason", simulated=True)
    page = told(url)
    (one,) = page["items"]
    assert (one["errors"], one["before"], one["share"], one["sessions"]) == (13, 6, 1.0, 7)
    assert one["change"]["low"] < 1 < one["change"]["value"] == 13 / 6 < one["change"]["high"]
    assert len({span["error_id"] for span in one["spans"]}) == 10
    for params, errors in (
        ({"service": "a"}, 5),
        ({"judge": f"{PACK.name}-x"}, 1),
        ({"pack": PACK.name}, 1),
        ({"task": "t1"}, 13),
        ({"task": "t2"}, 0),
        ({"simulated": "true"}, 1),
        ({"profile": "0.9"}, 0),
        ({"since": "90m"}, 12),
        ({"since": "3h", "until": "90m"}, 1),
    ):
        assert told(url, **params)["errors"] == errors, params
        if "since" not in params:
            html = httpx.get(f"{url}/clusters", params={**params, "range": "24h"}).text
            assert f">{errors} error{'' if errors == 1 else 's'}, " in html, params
    assert 'name="judge" value="&lt;b&gt;"' in httpx.get(f"{url}/clusters", params={"judge": "<b>"}).text
    assert httpx.get(f"{url}/clusters", params={"pack": "none"}).status_code == 422
    assert httpx.get(f"{url}/clusters", params={"judge": "x" * 5_000}).status_code == 422
    monkeypatch.setattr(clusters, "SAMPLE", 10)
    page = told(url)
    assert (page["sampled"], sum(c["errors"] + c["before"] for c in page["items"])) == (10, 19)
    assert "~" in run(url, "clusters").stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["clusters", "--pack", "none"], "no pack 'none'"),
        (["clusters", "--profile", "7"], "unknown profile"),
        (["clusters", "--until", "2020-01-01"], "the time ends before it begins"),
        (["clusters", "--service", "chekout"], "no service 'chekout' is stored; known are: checkout"),
        (["clusters", "--judge", "ted-note"], "no judge 'ted-note' is stored; known are: ted-notes"),
        (["fixes", "bad.json", "--as", "insert"], "holds no clusters as tracejury clusters --format json writes them"),
        (["fixes", "list.json", "--as", "insert"], "holds no clusters"),
        (["fixes", "none.json", "--as", "insert"], "none of its 0 clusters has a name"),
        (["fixes", "missing.json", "--as", "insert"], "missing.json"),
    ],
)
def test_bad_input_is_one_line(
    store: SharedStore, url: str, args: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_bytes(b"\xff{")
    Path("list.json").write_text("[]")
    put(store, 1, "late", service="checkout", ago=30 * HOUR)
    Path("none.json").write_text(run(url, "clusters", "--format", "json").stdout)
    result = run(url, *args)
    assert result.exit_code in (1, 2)
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    for body in ({"name": " \u202e", "error_ids": ["a"]}, {"name": "n", "error_ids": []}, {"name": "n" * 401}):
        assert httpx.post(f"{url}/api/clusters/names", json=body).status_code == 422
    assert httpx.post(f"{url}/api/clusters/names", json={"name": "n", "error_ids": ["a"]}).json() == {"named": 0}


def test_errors_of_a_named_cluster_are_one_pattern_in_any_order(store: SharedStore, url: str, clock: Clock) -> None:
    def patterns() -> dict[str, str]:
        return {one["id"]: one["pattern"] for one in httpx.get(f"{url}/api/errors?limit=1000").json()["items"]}

    def name(ids: list[str], as_: str) -> None:
        body = {"name": as_, "error_ids": ids}
        assert httpx.post(f"{url}/api/clusters/names", json=body).json() == {"named": len(ids)}
        clock.now += SECOND

    tools = {1: "search", 2: "search", 3: "book", 4: "search"}
    traces = [put(store, number, f"words {number}, others each time", tool=tool) for number, tool in tools.items()]
    before = patterns()
    assert len(set(before.values())) == 2  # by category and tool
    ids = {trace["trace_id"]: trace["id"] for trace in httpx.get(f"{url}/api/errors").json()["items"]}
    one, two, three, four = (ids[trace_id] for trace_id in traces)
    name([one, two, three], "late")
    named = patterns()
    assert named[one] == named[two] not in (named[three], before[one])  # another tool is another thing to fix
    assert named[four] == before[four]
    listed = {row["id"]: row["hits"] for row in httpx.get(f"{url}/api/patterns?profile=0").json()["items"]}
    assert listed == {named[one]: 2, named[three]: 1, named[four]: 1}
    # Named otherwise and back again, and judged again: what holds follows from the errors and the last names.
    name([two, four], "rude")
    assert patterns()[two] == patterns()[four] != named[two]
    name([two], "late")
    put(store, 2, "words 2, others each time")
    assert patterns() == named | {four: patterns()[four]}
    assert patterns()[four] not in named.values()
