"""What nobody has labelled on a service is said to be unproven there: API, explanations, page and command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result
from trace_pages import TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.cli.root import root
from tracejury.collector.store.rule_calibrations import TenantCalibrations
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.registry import priors
from tracejury.judges.rule_settings import RuleSetting, RuleSettings
from tracejury.schemas.rule_calibrations import RuleCalibration

RULE = "ungrounded-after-failure"
OTHER = "file-error"
REMARK = "since nobody has labelled their findings there: "


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*failing_run())
        yield made


def calibrate(pages: Pages, version: int, right: int, confidence: float, service: str = "shop") -> None:
    own = pages.reader.calibrations
    assert isinstance(own, TenantCalibrations)
    own.of_all.save([RuleCalibration("", service, version, RULE, right, 0, confidence, 0)])


def unproven(pages: Pages) -> dict[str, bool]:
    """By leading rule, as each way to an error says it."""
    listed = pages.get("/api/errors").json()["items"]
    found = {one["judge"]: one["unproven_on_service"] for one in listed}
    for path in (f"/api/traces/{TRACE_ID}", f"/api/traces/{TRACE_ID}?limit=100"):
        errors = pages.get(f"{pages.url}{path}").json()["errors"]
        assert {one["judge"]: one["unproven_on_service"] for one in errors} == found
    for one in listed:
        assert pages.get(f"/api/errors/{one['id']}").json()["unproven_on_service"] == one["unproven_on_service"]
    findings = {f["judge"]: f["unproven_on_service"] for f in pages.get("/api/findings").json()["items"]}
    assert {rule: findings[rule] for rule in found} == found
    return found


def run(pages: Pages, *args: str) -> Result:
    return CliRunner().invoke(root, args, env={"TRACEJURY_URL": pages.url, "COLUMNS": "200"})


def test_an_error_is_unproven_until_its_rule_has_labels_on_its_service(pages: Pages) -> None:
    assert unproven(pages) == {OTHER: True, RULE: True}
    calibrate(pages, 1, 2, 0.8, service="bank")
    assert unproven(pages) == {OTHER: True, RULE: True}
    calibrate(pages, 1, 2, 0.8)
    assert unproven(pages) == {OTHER: True, RULE: False}
    calibrate(pages, 2, 0, priors()[RULE].mean)  # the labels are gone
    assert unproven(pages) == {OTHER: True, RULE: True}


def test_page_and_command_line_remark_it_once(pages: Pages) -> None:
    calibrate(pages, 1, 2, 0.8)
    page = pages.get(f"/traces/{TRACE_ID}").text
    assert page.count(REMARK) == 1
    remark = page.partition(REMARK)[2].partition("</p>")[0]
    assert OTHER in remark
    assert RULE not in remark
    for command in (["errors"], ["trace", TRACE_ID]):
        told = run(pages, *command)
        assert told.exit_code == 0
        assert told.stderr == f"unproven on this service, {REMARK}{OTHER}\n"
        assert run(pages, *command, "--format", "json").stderr == ""


def test_explain_shows_the_versions_that_moved_a_rule_on_a_service(pages: Pages) -> None:
    general = f"{priors()[RULE].mean:.2f}"
    told = run(pages, "explain", RULE, "--service", "shop").stdout
    assert "On the service shop" in told
    assert f"unproven on this service, since nobody has labelled what it found there: {general}, as in general" in told
    calibrate(pages, 1, 1, 0.8)
    calibrate(pages, 3, 4, 0.875)
    (section,) = [
        s
        for s in json.loads(run(pages, "explain", RULE, "--service", "shop", "--format", "json").stdout)["sections"]
        if s["title"] == "On the service shop"
    ]
    first, second, third = section["lines"]
    assert first == f"confidence 0.88, in general {general}"
    assert second.startswith("version 1, ")
    assert second.endswith(": to 0.80, right in 1 of 1 labelled error")
    assert third.endswith(": from 0.80 to 0.88, right in 4 of 4 labelled errors")
    assert "On the service shop" in pages.get(f"/explain/{RULE}", service="shop").text
    own = pages.reader.calibrations
    assert isinstance(own, TenantCalibrations)
    own.of_all.save([RuleCalibration("", "shop", 4, RULE, 4, 0, 0.84, 0, confirmed=1, refuted=3)])
    said = "from 0.88 to 0.84, right in 4 of 4 labelled errors; LLM judges confirmed 1 other error and refuted 3"
    for path in (f"/explain/{RULE}", f"/api/explain/{RULE}"):
        assert said in pages.get(path, service="shop").text
    assert said in run(pages, "explain", RULE, "--service", "shop").stdout
    assert "On the service" not in pages.get(f"/explain/{RULE}").text


def test_explain_shows_what_the_configuration_says_of_a_rule_on_a_service(store: SharedStore) -> None:
    """By command line, API and page; nothing where no setting covers the rule."""
    off, lowered = RuleSetting(RULE, services=frozenset({"shop"})), RuleSetting(OTHER, 0.3)
    told = {
        RULE: "switched off on this service by detectors.rules in the configuration: it reports nothing there",
        OTHER: "at most 0.30 on this service by detectors.rules in the configuration, whatever its record",
        "run-limit": "",
    }
    with trace_pages(store, RuleSettings((off, lowered))) as pages:
        pages.put(*failing_run())
        for rule, line in told.items():
            section = pages.get(f"/api/explain/{rule}", service="shop").json()["sections"][-1]
            assert [one for one in section["lines"] if "detectors.rules" in one] == [line] * bool(line)
            page, command = (
                pages.get(f"/explain/{rule}", service="shop").text,
                run(pages, "explain", rule, "--service", "shop"),
            )
            for text in (page, command.stdout):
                assert (line in text) if line else ("detectors.rules" not in text)


@pytest.mark.parametrize(
    ("name", "service", "why"),
    [
        (RULE, "shoq", "nothing is stored of a service 'shoq'; known are: shop"),
        ("plan-quality", "shop", "'plan-quality' is no built-in detector: only these have a record on a service"),
        ("nonsense", "shop", "nothing is known of 'nonsense'"),
    ],
)
def test_what_has_no_record_on_a_service_is_one_line(pages: Pages, name: str, service: str, why: str) -> None:
    told = run(pages, "explain", name, "--service", service)
    assert told.exit_code != 0
    assert why in told.stderr
    assert "--service needs the name of a detector" in run(pages, "explain", "--service", service).stderr


def test_a_hostile_name_of_a_service_reaches_no_terminal_as_a_control(pages: Pages) -> None:
    service = "shop\x1b[31m<b>"
    pages.put(*[replace(span, trace_id="c" * 32, service=service) for span in failing_run()])
    told = run(pages, "explain", RULE, "--service", service)
    assert told.exit_code == 0
    assert "\x1b[31m" not in told.stdout
    assert "<b>" not in pages.get(f"/explain/{RULE}", service=service).text
