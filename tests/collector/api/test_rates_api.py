"""`/api/rates`, `/api/rates/compare` and `tracejury rates`: parameters in, figures out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from served_api import NOW, Api, row

from tracejury.collector.cli.root import root
from tracejury.schemas.rates import By, Estimate, Population, Rate, RateAnswer, RateQuery, RateRow, Unit, Unjudged

NOTHING = Rate(0, 0, 0, 0.0, sampled=False, share=None, mean=None)
HOUR = 3_600_000_000_000
DAY = 24 * HOUR
SHARE, MEAN = Estimate(0.25, 0.1, 0.5), Estimate(0.5, 0.2, 1.1)
RATE = Rate(8, 2, 4, 8.0, sampled=True, share=SHARE, mean=MEAN)
ANSWER = RateAnswer(
    Population.BOTH, RATE, (RateRow("planner", NOW - DAY, RATE), RateRow("", NOW - DAY, NOTHING)),
    Unjudged({"no-calls": 1, "open": 3}), left=2, from_rollups=False,
)  # fmt: skip


def run(api: Api, *args: str) -> Result:
    return CliRunner().invoke(root, ["rates", *args], env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})


def test_without_parameters_it_is_runs_of_the_last_day(api: Api) -> None:
    """The default of a newcomer; the reader chooses whose errors count."""
    api.get("/api/rates")
    assert api.reader.rates.asked == [RateQuery(NOW - DAY, NOW)]


def test_every_parameter_reaches_the_question(api: Api) -> None:
    """Each under its own name."""
    texts = {
        "profile": "strict", "service": "s", "version": "v", "agent": "a", "role": "manager", "model": "m",
        "session": "c", "behaviour": "goal-switching", "judge": "j", "dimension": "TS", "taxonomy": "t",
        "category": "k", "severity": "HIGH", "tool": "o",
    }  # fmt: skip
    api.get(
        "/api/rates", by="tool", unit="turn", population="judges", step="1h", since="2d", until="1h", limit="7",
        calibrated="true", simulated="true", **texts,
    )  # fmt: skip
    told: dict[str, Any] = dict(texts)
    wanted = RateQuery(
        NOW - 2 * DAY,
        NOW - HOUR,
        HOUR,
        By.TOOL,
        Unit.TURN,
        Population.JUDGES,
        calibrated=True,
        simulated=True,
        limit=7,
        **told,
    )
    assert api.reader.rates.asked == [wanted]


def test_figures_come_with_their_intervals(api: Api) -> None:
    """Of all, and of each group and point in time; nothing judged is null and not 0."""
    api.reader.rates.given["ask"] = ANSWER
    page = api.get("/api/rates", by="agent")
    share = {"value": 0.25, "low": 0.1, "high": 0.5}
    assert page["total"]["share"] == share
    assert (
        page["items"][0] | {"key": "planner", "judged": 8, "hits": 2, "errors": 4, "sampled": True} == page["items"][0]
    )
    assert page["items"][1]["share"] is None
    assert (page["population"], page["left"], page["unjudged"], page["from_rollups"]) == (
        "both",
        2,
        {"no-calls": 1, "open": 3},
        False,
    )


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, RateQuery(NOW - 2 * DAY, NOW - DAY)),
        ({"to": "version=1"}, RateQuery(NOW - DAY, NOW, version="1")),
        ({"to": "service=x=y"}, RateQuery(NOW - DAY, NOW, service="x=y")),
        ({"to": "3d..2d"}, RateQuery(NOW - 3 * DAY, NOW - 2 * DAY)),
    ],
)
def test_what_is_compared_to(api: Api, given: dict[str, str], wanted: RateQuery) -> None:
    """The time before, another version, another service, another time: the baseline is asked first."""
    api.get("/api/rates/compare", **given)
    assert api.reader.rates.asked == [wanted, RateQuery(NOW - DAY, NOW)]


@pytest.mark.parametrize(
    ("path", "given", "why"),
    [
        ("/api/rates", {"by": "colour"}, "by"),
        ("/api/rates", {"behaviour": "kind"}, "behaviour"),
        ("/api/rates", {"step": "soon"}, "step: 'soon' is no length of time"),
        ("/api/rates", {"step": "0s"}, "step: must be longer than nothing"),
        ("/api/rates", {"since": "yesterday"}, "since: 'yesterday' is no point in time"),
        ("/api/rates", {"limit": "10001"}, "limit"),
        ("/api/rates", {"agent": "a" * 5000}, "agent"),
        ("/api/rates", {"group": "agent"}, "unknown parameter 'group'"),
        ("/api/rates/compare", {"to": "last week"}, "to: 'last week' is nothing to compare to"),
        ("/api/rates/compare", {"to": "..1d"}, "to: '..1d' is nothing to compare to"),
        ("/api/rates/compare", {"to": "version="}, "to: 'version=' is nothing to compare to"),
        ("/api/rates", {"until": "1960-01-01"}, "until: '1960-01-01' lies before 1970"),
        ("/api/rates", {"by": ["agent", "tool"]}, "'by' is given more than once"),
        ("/api/rates/compare", {"to": ["1d..2d", "previous"]}, "'to' is given more than once"),
        ("/api/rates", {"dimension": "XX"}, "dimension: must be 'PQ', 'PA'"),
    ],
)
def test_what_means_nothing_is_refused_in_one_line(api: Api, path: str, given: dict[str, Any], why: str) -> None:
    """With what is wrong; nothing is asked."""
    status, detail = api.get(path, **given)
    assert status == 422
    assert why in detail
    assert not api.reader.rates.asked


def test_the_table_names_groups_intervals_and_what_is_missing(api: Api) -> None:
    """A sample is marked, and so is what stands in no rate."""
    api.reader.rates.given["ask"] = replace(ANSWER, population=Population.DETECTORS)
    shown = run(api, "--by", "agent").stdout
    for text in ("planner", "~25.0 %", "10.0 - 50.0 %", "2 of 8 runs", "2 more groups", "~ some"):
        assert text in shown
    assert "in no rate: 1 no model or tool was called, 3 open" in shown
    assert json.loads(run(api, "--by", "agent", "--format", "json").stdout)["left"] == 2


def behaviours(query: RateQuery, **_: Any) -> RateAnswer:
    """Users of one behaviour, and others that nobody labelled; one judge saw something."""
    keys = {By.BEHAVIOUR: ("goal-switching", ""), By.JUDGE: ("<b>loops",)}.get(query.by or By.AGENT, ())
    return replace(ANSWER, rows=tuple(RateRow(key, NOW, RATE) for key in keys), left=0)


def test_by_behaviour_every_judge_is_told_and_that_groups_overlap(api: Api) -> None:
    """The command line and the overview ask for the judges of each behaviour."""
    api.reader.rates.given["ask"] = behaviours
    shown = run(api, "--by", "behaviour", "--simulated").stdout
    for text in ("goal-switching", "unlabelled", "rows add up to more than all", "of simulated sessions", "<b>loops"):
        assert text in shown
    of_judges = [query for query in api.reader.rates.asked if query.by is By.JUDGE]
    assert [(one.behaviour, one.simulated) for one in of_judges] == [("goal-switching", True)]
    page = api.client.get("/overview/by/behaviour", params={"simulated": "1"}).text
    assert "add up to more than all" in page
    assert "&lt;b&gt;loops" in page
    assert "8 more have users whom nobody labelled" in page
    assert api.reader.rates.asked[-1].simulated
    assert api.get("/api/rates", by="behaviour", simulated="true")["simulated"] is True


@pytest.mark.parametrize(("given", "simulated"), [("", False), ("simulated=1", True), ("simulated=0", False)])
def test_the_overview_is_of_real_sessions_unless_asked_otherwise(api: Api, given: str, simulated: bool) -> None:  # noqa: FBT001  a case
    """Its switch says which; every question is of those."""
    api.put_rows(row(0))
    page = api.client.get(f"/?{given}").text
    assert ('href="/?simulated=1" aria-current="true"' in page) is simulated
    assert {query.simulated for query in api.reader.rates.asked} == {simulated}


def test_a_hostile_name_is_text_in_the_table(api: Api) -> None:
    """Neither markup nor terminal codes of an agent's name work."""
    api.reader.rates.given["ask"] = replace(ANSWER, rows=(RateRow("[red]\x1b[2J\u202ename", NOW, RATE),))
    shown = run(api, "--by", "agent").stdout
    assert "[red]" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_comparison_without_anything_judged_says_so(api: Api) -> None:
    """And not that there is no difference."""
    result = run(api, "--compare-to", "previous")
    assert result.exit_code == 0
    assert result.stdout.count("nothing to compare") == 2
    assert "detectors' errors, by run" in result.stdout


@pytest.mark.parametrize("option", [("--by", "agent"), ("--step", "1h"), ("--calibrated",)])
def test_what_a_comparison_does_not_show_is_refused(api: Api, option: tuple[str, ...]) -> None:
    """Rather than left out in silence; as JSON it is there."""
    refused = run(api, "--compare-to", "previous", *option)
    assert refused.exit_code == 2
    assert f"shows no {option[0]}" in refused.output
    assert run(api, "--compare-to", "previous", *option, "--format", "json").exit_code == 0


def test_a_wrong_severity_is_refused(api: Api) -> None:
    """In any case of letters it is one of three."""
    assert run(api, "--severity", "high").exit_code == 0
    assert api.reader.rates.asked[-1].severity == "HIGH"
    assert run(api, "--severity", "awful").exit_code == 2


def test_a_corrected_share_shows_beside_the_judges_own(api: Api) -> None:
    """With its interval; where labels correct nothing, the reason shows, and no column that is empty throughout."""
    corrected = replace(ANSWER, total=replace(RATE, calibrated=Estimate(0.4, 0.3, 0.52)))
    api.reader.rates.given["ask"] = corrected
    assert api.get("/api/rates", calibrated="true")["total"]["calibrated"] == {"value": 0.4, "low": 0.3, "high": 0.52}
    shown = run(api, "--calibrated").stdout
    assert "as people see it" in shown
    assert "40.0 % (30.0 - 52.0 %)" in shown
    api.reader.rates.given["ask"] = replace(ANSWER, uncalibrated="the label queue drew 3 reviewed runs of these")
    assert api.get("/api/rates")["uncalibrated"] == "the label queue drew 3 reviewed runs of these"
    shown = run(api, "--calibrated").stdout
    assert "not corrected by labels: the label queue drew 3 reviewed runs of these" in shown
    assert "as people see it" not in shown
