"""`/api/measures` and `tracejury measures`: parameters in, figures of a real store out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from click.testing import CliRunner, Result
from graded import NONE_DUE, graded
from listed_traces import SECOND, Listed, store_all
from measured_sessions import PACK, POLICY, STATES, a_value, of_exchange, of_session, save
from served_api import NOW, Api, served
from store_parts import a_span
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.cli.root import root
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.packs.grades import grades_pack
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.queries.measures import MeasureQuery, PackMeasure
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

HOUR = 3_600 * SECOND
DAY = 24 * HOUR
HOSTILE = "\x1b[2J<b>s2"


def run(url: str, *args: str) -> Result:
    return CliRunner().invoke(root, ["measures", *args], env={"TRACEJURY_URL": url, "COLUMNS": "200"})


@pytest.fixture
def measured(store: SharedStore) -> Iterator[str]:
    """The address of an API over two sessions of two versions."""
    for number, session, version, states in ((1, "s1", "1", 0.5), (2, HOSTILE, "2", 1.0)):
        store_all(store, [Listed(number, session=session, version=version, received=NOW - HOUR)])
        whole = of_session("shop", session)
        save(store, a_value(STATES, whole, states), a_value(POLICY, whole, None), received=NOW - HOUR)
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW, lambda: [PACK])
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url:
        yield url


def test_every_parameter_reaches_the_question(api: Api) -> None:
    """Each under its own name; a comparison asks for the other sessions, too."""
    api.packs.append(PACK)
    names = {"pack": "demo", "service": "s", "version": "v", "agent": "a", "model": "m", "task": "t"}
    api.get(
        "/api/measures", by="attribute:tier,mode", step="1h", since="2d", until="1h", pooled="true", simulated="true",
        limit="7", trials="true", k="3", threshold="0.5", compare_to="version=w", **names,
    )  # fmt: skip
    asked = MeasureQuery(
        NOW - 2 * DAY, NOW - HOUR, by=("attribute:tier", "mode"), step=HOUR, pooled=True, limit=7, simulated=True,
        trials=True, k=3, threshold=0.5, **names,
    )  # fmt: skip
    other = replace(asked, version="w")
    assert api.reader.measures.asked == [asked, other]


def test_without_parameters_it_is_all_packs_in_seven_days(api: Api) -> None:
    assert api.get("/api/measures")["items"] == []
    assert api.reader.measures.asked == [MeasureQuery(NOW - 7 * DAY, NOW)]
    assert "no packs: name some under judges.packs" in run(api.url).output


@pytest.mark.parametrize(
    "asked",
    [
        *({"by": by} for by in ("role", "attribute:", "answer:")),
        {"compare-to": "x"}, {"step": "0s"}, {"k": "2"}, {"threshold": "0.5"},
        *({"k": k, "trials": "true"} for k in ("0", "-1", "1001", "x", "1.5")),
        *({"threshold": share, "trials": "true"} for share in ("0", "1.01", "-1", "nan", "inf", "x")),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused(api: Api, asked: dict[str, str]) -> None:
    """With one line that names the parameter."""
    wrong, *flags = asked
    name = wrong.replace("-", "_")
    answer = httpx.get(
        f"{api.url}/api/measures", params={name: asked[wrong]} | dict.fromkeys(flags, "true"), trust_env=False
    )
    assert answer.status_code == 422
    assert name in answer.json()["detail"]
    refused = run(api.url, f"--{wrong}", asked[wrong], *(f"--{flag}" for flag in flags))
    assert refused.exit_code == 2
    (line,) = refused.output.strip().splitlines()
    assert name in line


def test_figures_of_sessions(measured: str) -> None:
    """Of all, by group, the worst, and against another version."""
    asked = {"by": "version", "version": "1", "compare_to": "version=2"}
    page = httpx.get(f"{measured}/api/measures", params=asked, trust_env=False).json()
    (pack,) = page["items"]
    states, policies = pack["total"]["measures"]
    assert (page["by"], page["pooled"], pack["pack"], pack["unread"]) == ("version", False, "demo", 0)
    assert [one["letter"] for one in pack["measures"]] == ["S", "P"]
    assert states["estimate"]["low"] < states["estimate"]["value"] == 0.5 < states["estimate"]["high"]
    assert (states["n"], policies["n"], policies["not_applicable"], policies["estimate"]) == (1, 0, 1, None)
    assert [(row["key"], row["average"]) for row in pack["items"]] == [("1", 0.5)]
    assert [(one["session_id"], one["values"]) for one in pack["worst"]] == [("s1", {"S": 0.5, "P": None})]
    assert pack["compared"]["differences"]["S"]["value"] == -0.5
    assert pack["compared"]["differences"]["P"] is None
    assert page["unknown_compared"] == {}
    refused = run(measured, "--compare-to", "version=3")
    assert (refused.exit_code, "no version '3' is stored; known are: 1, 2" in refused.output) == (2, True)


def test_grades_are_measures_of_runs(store: SharedStore) -> None:
    """Of 0 to 3, with shares and what each mean is of; the command names the worst runs and who was asked of a part."""
    before, after = (
        Listed(number, service=HOSTILE, version=str(number), received=NOW - number * HOUR) for number in (1, 2)
    )
    store_all(store, [before, after])
    graded(store, before, GF=3, LC=2)
    graded(store, after, probability=0.5, GF=0, LC=NONE_DUE)
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW, lambda: [grades_pack()])
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url:
        asked = {"pack": "gpa", "version": "2", "compare_to": "version=1"}
        (pack,) = httpx.get(f"{url}/api/measures", params=asked, trust_env=False).json()["items"]
        whole = run(url, "--by", "version", "--compare-to", "version=1")
        none = run(url, "--service", HOSTILE, "--version", "1", "--model", "gpt", "--until", "3h")
        refused = [run(url, "--pack", "gpa", flag).output for flag in ("--trials", "--pooled")]
    measures = {one["letter"]: one for one in pack["measures"]}
    figures = {one["letter"]: one for one in pack["total"]["measures"]}
    assert (pack["unit"], pack["best"], measures["Goal"]["of"], measures["GF"]["of"]) == (
        "run", 3, ["goal-fulfilment"], [],
    )  # fmt: skip
    assert list(measures) == ["PQ", "PA", "GF", "LC", "EE", "TS", "TC", "Goal", "Plan", "Action", "GPA"]
    assert (figures["GF"]["estimate"]["value"], figures["GF"]["sampled"], figures["GF"]["ungrounded"]) == (0, 0.5, 1)
    assert [share["value"] for share in figures["GF"]["shares"].values()] == [1, 0]
    assert (figures["LC"]["not_applicable"], figures["LC"]["estimate"], figures["GPA"]["shares"]) == (1, None, {})
    assert pack["compared"]["differences"]["GF"]["value"] == -3
    assert [(one["trace_id"], one["run_id"]) for one in pack["worst"]] == [(after.trace_id, "p")]
    assert "GPA: grades of agent runs  2 runs" in whole.output
    for text in ("graded 0", "67% (", "asked of", "Action  mean of LC EE TS TC", f"trace {after.trace_id}, run p"):
        assert text in whole.output
    assert "AVG" not in whole.output
    assert "\x1b" not in whole.output
    assert "no run was graded in this time" in none.output
    for name, said in zip(("trials", "pooled"), refused, strict=True):
        assert f"{name}: only of packs that measure sessions; gpa measures agent runs" in said


def test_invalid_sessions_are_told_beside_the_measures(store: SharedStore) -> None:
    """By the command and the page, also where there are no others."""
    validates = PackMeasure("V", "demo-valid", "Valid user", "Whether the user kept to the task.", validates=True)
    pack = replace(PACK, measures=(*PACK.measures, validates))
    store_all(store, [Listed(1, session="s1", received=NOW - HOUR)])
    save(
        store, *(a_value(judge, of_session("shop", "s1"), 0.5) for judge in (STATES, "demo-valid")), received=NOW - HOUR
    )
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW, lambda: [pack])
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url:
        said = run(url, "--trials").output
        page = httpx.get(f"{url}/packs", trust_env=False).text
    for text in (said, page):
        assert "1 invalid session left out" in text
        assert "no session was measured" not in text.lower()


def test_the_command_shows_them(measured: str, store: SharedStore) -> None:
    """As tables that nothing from a span can break, and as JSON; with the sessions that wait."""
    trace = Listed(3, session="s3", received=NOW - HOUR)
    store_all(store, [trace])
    save(store, a_value(STATES, of_exchange(trace), 1), received=NOW - HOUR)
    found = run(measured, "--by", "version", "--step", "1h", "--compare-to", "previous")
    assert found.exit_code == 0
    assert "Demo pack  2 sessions, 1 more waits to be measured" in found.output
    assert "S  State consistency" in found.output
    assert "0.750" in found.output
    assert "worst: shop / s1  S 0.500, P -" in found.output
    assert "\x1b" not in found.output
    assert json.loads(run(measured, "--format", "json").output)["items"][0]["waiting"] == 1
    span = a_span(trace_id=Listed(1).trace_id, attributes={"task_id": "7"})
    store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW - HOUR))
    tried = run(measured, "--trials", "--k", "2", "--by", "version", "--compare-to", "previous").output
    for text in ("1 session of no named task: no trial", "S mean, max@2", "0.500, -", "S max@2", "2 scored trials:"):
        assert text in tried
    failed = a_value(STATES, of_session("shop", "s1"), None, not_applicable=False, unscored_reason="no usable answer")
    save(store, failed, received=NOW - HOUR, judged_at=2)
    left = run(measured, "--trials", "--k", "2").output
    assert "1 session unscored: tracejury ledger says why\nno task has 2 scored trials\n" in left
    for kind, known in (("service", "shop"), ("version", "1, 2"), ("task", "7")):
        unknown = run(measured, f"--{kind}", "shpo")
        assert (unknown.exit_code, f"no {kind} 'shpo' is stored; known are: {known}" in unknown.output) == (2, True)
    refused = run(measured, "--pack", "nothing")
    assert (refused.exit_code, "no pack 'nothing': use one of demo" in refused.output) == (2, True)
