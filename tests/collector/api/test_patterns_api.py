"""`/api/patterns`, its pages and `tracejury patterns` over a real store: they equal a scan of what was stored."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from click.testing import CliRunner, Result
from listed_traces import SECOND, Listed, Mark
from served_api import NOW as SERVED
from served_api import served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.cli.root import root
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.queries.patterns import HOUR
from tracejury.schemas.verdicts import JudgedTrace

DAY = 86_400 * SECOND
NOW = SERVED // HOUR * HOUR
HOSTILE = "<b>x</b>\x1b[2J\u202e'; DROP"


def trace(
    number: int, ago: float, *faults: str, version: str = "1.0", service: str = "shop", confidence: float = 0.7
) -> JudgedTrace:
    """A judged trace that arrived so many days ago, with an error of each fault: the tool and template of its words."""
    marks = tuple(
        Mark(at_tool=True, explanation=fault, category="Timeout Issues", judge="timeout-error", confidence=confidence)
        for fault in faults
    )
    one = Listed(
        number, tool="get_order", version=version, service=service, marks=marks, received=NOW - round(ago * DAY)
    )
    found = tuple(replace(f, template=f.explanation, title="Timed out") for f in one.judged.judgement.findings)
    return replace(one.judged, changed=found, judgement=replace(one.judged.judgement, findings=found))


@pytest.fixture
def url(store: SharedStore) -> Iterator[str]:
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW, list)
    services = Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW)
    with served(create_web_app(services)) as url:
        yield url


def planted() -> list[JudgedTrace]:
    """Of 700 traces in 35 days: `always` in each tenth, `new` since 2.0, `gone` until day 20, once `HOSTILE`."""
    traces = []
    for number in range(700):
        ago = 34.9 - number / 20
        version = "2.0" if ago < 6 else "1.0"
        faults = ["always"] * (number % 10 == 0) + ["new"] * (version == "2.0" and number % 4 == 0)
        faults += ["gone"] * (ago > 15 and number % 3 == 0) + [HOSTILE] * (number == 695)
        traces.append(trace(number, ago, *faults, version=version))
    return traces


def run(url: str, *args: str) -> Result:
    return CliRunner().invoke(root, [*args, "--url", url], env={"COLUMNS": "200"})


def test_patterns_tell_what_keeps_going_wrong(store: SharedStore, url: str) -> None:
    traces = planted()
    StoredJudging(store).save(traces)
    page = httpx.get(f"{url}/api/patterns?state=all", timeout=60).json()
    assert page["looked_at"] == 4
    found = {one["examples"][0]["explanation"]: one for one in page["items"]}
    assert {fault: one["state"] for fault, one in found.items()} == {
        "always": "ongoing", "new": "new", "gone": "gone", HOSTILE: "new",
    }  # fmt: skip
    assert (found["always"]["hits"], found["always"]["units"]) == (14, 2 * 140)  # two runs a trace, twenty traces a day
    assert found["new"]["since"]["version"] == "2.0"
    assert found["new"]["versions"] == ["2.0"]
    assert found["new"]["told"].startswith("get_order: Timed out in ")
    assert found["gone"]["quiet"] >= found["gone"]["needed"] > 0
    assert found["always"]["since"] is None
    assert len(found["always"]["examples"]) == 3
    # A pattern leads to its errors and traces, and an error names its pattern.
    own = found["new"]["id"]
    errors = httpx.get(f"{url}/api/errors?pattern={own}&limit=1000").json()["items"]
    assert {error["pattern"] for error in errors} == {own}
    listed = httpx.get(f"{url}/api/traces?pattern={own}&limit=1000").json()["items"]
    assert {t["trace_id"] for t in listed} == {e["trace_id"] for e in errors}
    alone = httpx.get(f"{url}/api/patterns/{own}").json()
    assert "people reviewed 0 runs" in alone.pop("uncalibrated")
    assert alone == {key: value for key, value in found["new"].items() if key != "uncalibrated"}
    assert httpx.get(f"{url}/api/patterns/{'0' * 16}").status_code == 404
    # It is derived: what is deleted is gone from it.
    TraceDeleter(store).delete([e["trace_id"] for e in errors], NOW, labels=False, until=0)
    assert httpx.get(f"{url}/api/patterns/{own}").status_code == 404


def test_examples_are_as_sure_as_the_profile(store: SharedStore, url: str) -> None:
    """Also those that are kept: an error that counts nowhere changes nothing."""
    StoredJudging(store).save([trace(1, 2, "late")])
    before = httpx.get(f"{url}/api/patterns").json()["items"]
    doubtful = trace(2, 1, "late", confidence=0.2)
    StoredJudging(store).save([doubtful])
    for service in ("", "shop"):  # kept, and read anew
        (item,) = httpx.get(f"{url}/api/patterns", params={"service": service}).json()["items"]
        assert item["examples"] == before[0]["examples"]
    (item,) = httpx.get(f"{url}/api/patterns?profile=recall").json()["items"]
    assert [one["trace_id"] for one in item["examples"]] == [
        doubtful.trace.trace_id,
        before[0]["examples"][0]["trace_id"],
    ]


def test_any_order_of_arrival_gives_the_same_patterns(store: SharedStore, url: str) -> None:
    traces = planted()[::7]
    for part in (traces[1::2], traces[::2], traces[::3]):
        StoredJudging(store).save(part)
    again = httpx.get(f"{url}/api/patterns?state=all").json()
    for table in ("findings", "errors", "run_facts", "traces", "judgements"):
        store.command(f"TRUNCATE TABLE {table}")
    store.derivation.alone.clear()
    StoredJudging(store).save(traces)
    assert httpx.get(f"{url}/api/patterns?state=all").json() == again


def test_people_decide_about_patterns(store: SharedStore, url: str) -> None:
    StoredJudging(store).save(planted())
    page = httpx.get(f"{url}/api/patterns").json()
    by_words = {one["examples"][0]["explanation"]: one["id"] for one in page["items"]}
    assert run(url, "labels", "pattern", by_words["always"], "--resolve", "--in", "2.0", "--as", "ann").exit_code == 0
    assert run(url, "labels", "pattern", by_words[HOSTILE], "--ignore", "--as", "bob", "--why", "noise").exit_code == 0
    assert run(url, "labels", "pattern", by_words["gone"], "--resolve", "--as", "ann").exit_code == 0
    items = httpx.get(f"{url}/api/patterns?state=all").json()["items"]
    states = {one["examples"][0]["explanation"]: one["state"] for one in items}
    # It came 12 times since 2.0: far beyond a tenth of its old rate. What is gone stays resolved.
    assert (states["always"], states[HOSTILE], states["gone"]) == ("back", "ignored", "resolved")
    assert httpx.get(f"{url}/api/patterns").json()["hidden"] == 2
    shown = run(url, "pattern", by_words["always"])
    assert "resolved in 2.0 by ann" in shown.output
    refused = run(url, "labels", "pattern", by_words["always"], "--ignore", "--in", "2.0", "--as", "ann")
    assert refused.exit_code
    assert "only what is resolved has a version" in refused.output
    assert json.loads(run(url, "labels", "list", "--kind", "pattern-labels", "--format", "json").output)
    # The form of the page says the same, and the last person to say something is heard.
    with httpx.Client(base_url=url, follow_redirects=True) as browser:
        shown_page = browser.get(f"/patterns/{by_words['always']}").text
        token = shown_page.split('name="csrf" value="')[1].split('"')[0]
        form = {"csrf": token, "pattern": by_words["always"], "mark": "acknowledged", "annotator": "eve"}
        answer = browser.post("/feedback/pattern", data=form, headers={"Origin": url})
        assert answer.status_code == 200
        assert "acknowledged" in answer.text
        for path in ("/patterns", "/overview/patterns", "/patterns?state=all", f"/patterns/{by_words[HOSTILE]}"):
            text = browser.get(path).text
            assert "<b>x</b>" not in text
            assert "\x1b" not in text


def test_what_people_say_of_no_pattern_or_time_is_refused(store: SharedStore, url: str) -> None:
    """An id cut short would hide nothing; a time is to come, and a length counts from now on."""
    StoredJudging(store).save(planted()[::5])
    one = httpx.get(f"{url}/api/patterns").json()["items"][0]["id"]
    for words in (["--until", "2020-01-01"], ["--until", "nan"], ["--until", "-5d"], ["--until", "9999-12-31"]):
        refused = run(url, "labels", "pattern", one, "--ignore", *words, "--as", "ann")
        assert (refused.exit_code, refused.output.count("\n")) == (2, 1), refused.output
    for wrong in (one[:8], "", "x" * 16, "../../etc"):
        refused = run(url, "labels", "pattern", wrong, "--ignore", "--as", "ann")
        assert (refused.exit_code, "is no id of a pattern" in refused.output) == (2, True), refused.output
    for until in (-5, 10**30):
        item = {"pattern": one, "mark": "ignored", "annotator": "ann", "until": until}
        assert httpx.post(f"{url}/api/pattern-labels", json={"items": [item]}).status_code == 422
    assert httpx.get(f"{url}/api/patterns/{one}").json()["labels"] == []
    begun = time.time_ns()
    assert run(url, "labels", "pattern", one.upper(), "--ignore", "--until", "2d", "--as", "ann").exit_code == 0
    assert httpx.get(f"{url}/api/patterns/{one}").json()["label"]["until"] >= begun + 2 * DAY
    assert "<PatternState" not in httpx.get(f"{url}/api/patterns", params={"state": "x"}).text


def test_words_of_spans_are_plain_text(store: SharedStore, url: str) -> None:
    StoredJudging(store).save(planted())
    for args in (["patterns"], ["patterns", "--state", "all", "--service", "shop"]):
        result = run(url, *args)
        assert result.exit_code == 0, result.output
        assert "\x1b[2J" not in result.output
    assert run(url, "patterns", "--service", "nobody").exit_code == 2
    assert run(url, "pattern", "0" * 16).exit_code == 4


def test_odd_input_has_a_defined_outcome(store: SharedStore, url: str) -> None:
    """Errors without a quote, quotes of a megabyte, versions that are none, arrivals that are yet to come."""
    no_version = "\x1b[2J<b>'; --" + "9" * 500
    odd = [
        with_quote(trace(1, 1.0, "silent"), ""),
        with_quote(trace(2, 1.0, "long", version=no_version), "q" * 1_000_000),
        with_quote(trace(3, 2.0, "long", version=""), "q" * 999_999),
        trace(4, -3.0, "to come"),
        trace(5, 20_000.0, "before all time"),
    ]
    StoredJudging(store).save([*planted()[300:500:4], *odd])
    answer = httpx.get(f"{url}/api/patterns?profile=0", timeout=60)
    assert len(answer.content) < 200_000
    found = {one["examples"][0]["explanation"]: one for one in answer.json()["items"]}
    assert "to come" not in found
    assert "before all time" not in found
    assert (found["silent"]["examples"][0]["evidence"], found["silent"]["hits"]) == ("", 1)
    assert (found["long"]["hits"], len(found["long"]["examples"][0]["evidence"])) == (2, 2_000)
    assert found["long"]["versions"] == [no_version[:256]]
    for path in ("/patterns?profile=0", f"/patterns/{found['long']['id']}?profile=0"):
        page = httpx.get(f"{url}{path}", timeout=60)
        assert page.status_code == 200
        assert len(page.content) < 200_000
        assert "\x1b" not in page.text
        assert "<b>'" not in page.text
    shown = run(url, "pattern", found["long"]["id"], "--profile", "0")
    assert shown.exit_code == 0, shown.output
    assert "\x1b[2J" not in shown.output


def with_quote(one: JudgedTrace, quote: str) -> JudgedTrace:
    """The trace whose findings quote this."""
    found = tuple(replace(finding, evidence=quote) for finding in one.judgement.findings)
    return replace(one, changed=found, judgement=replace(one.judgement, findings=found))


def test_an_error_leads_to_its_pattern_and_what_people_said_outlives_it(store: SharedStore, url: str) -> None:
    StoredJudging(store).save(planted()[::5])
    one = httpx.get(f"{url}/api/patterns").json()["items"][0]
    for name, mark in (("ann", "--ignore"), ("bob", "--acknowledge")):
        assert run(url, "labels", "pattern", one["id"], mark, "--as", name).exit_code == 0
    said = httpx.get(f"{url}/api/patterns/{one['id']}").json()
    assert {label["annotator"]: label["mark"] for label in said["labels"]} == {"ann": "ignored", "bob": "acknowledged"}
    assert said["label"]["annotator"] == "bob"
    error = one["examples"][0]
    with httpx.Client(base_url=url, follow_redirects=True) as browser:
        there = browser.get(f"/errors/{error['error_id']}/pattern")
        assert (there.status_code, there.url.path) == (200, f"/patterns/{one['id']}")
        assert browser.get(f"/errors/{'0' * 32}/pattern").status_code == 404
        shown = browser.get(f"/patterns/{one['id']}").text
        for path in ("/errors", "/traces", "/compare/traces"):
            assert f'href="{path}?' in shown
    errors = httpx.get(f"{url}/api/errors?pattern={one['id']}&limit=1000").json()["items"]
    TraceDeleter(store).delete([e["trace_id"] for e in errors], NOW, labels=False, until=0)
    assert httpx.get(f"{url}/patterns/{one['id']}").status_code == 404
    assert httpx.get(f"{url}/errors/{error['error_id']}/pattern").status_code == 404
    assert one["id"] not in {left["id"] for left in httpx.get(f"{url}/api/patterns?state=all").json()["items"]}
    kept = json.loads(run(url, "labels", "list", "--kind", "pattern-labels", "--format", "json").stdout)
    assert {label["pattern"] for label in kept} == {one["id"]}
