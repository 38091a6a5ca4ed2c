"""View models of the overview: words, charts, links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tracejury.collector.web.breakdown import break_down
from tracejury.collector.web.headline import change, chart, headline
from tracejury.collector.web.judges import against_caps, judge_rows, version_rows
from tracejury.collector.web.labels import progress, queue_link, spoken
from tracejury.collector.web.window import HOUR, Window
from tracejury.schemas.llm_rows import Spend
from tracejury.schemas.queries.labels import QueueItem, Stratum
from tracejury.schemas.queries.pipeline_stats import VersionSeen
from tracejury.schemas.rates import (
    By,
    Estimate,
    Population,
    Rate,
    RateAnswer,
    RateComparison,
    RateRow,
    Sums,
    Unit,
    Unjudged,
)
from tracejury.schemas.verdicts import Outcome

DAY0 = 1_795_132_800_000_000_000  # a midnight
WINDOW = Window(DAY0, DAY0 + 5 * HOUR, "", "svc")


def rate(judged: int, hits: int, **changes: object) -> Rate:
    share = Estimate(hits / judged, max(0.0, hits / judged - 0.1), min(1.0, hits / judged + 0.1)) if judged else None
    made = Rate(judged, hits, hits, float(judged), sampled=False, share=share, mean=share)
    return replace(made, **changes)  # type: ignore[arg-type]  # fields of Rate


def answer(*rows: RateRow, total: Rate | None = None, **unjudged: int) -> RateAnswer:
    return RateAnswer(Population.BOTH, total or rate(10, 2), rows, Unjudged(unjudged))


def compared(value: float, p_value: float) -> RateComparison:
    return RateComparison(answer(), answer(), Estimate(value, value - 0.02, value + 0.02), p_value, None, None)


@pytest.mark.parametrize(
    ("value", "p_value", "kind", "words"),
    [
        (0.05, 0.2, "same", "no clear difference from the period before: +5.0 points (+3.0 to +7.0)"),
        (0.05, 0.01, "worse", "worse than the period before: +5.0 points (+3.0 to +7.0)"),
        (-0.05, 0.049, "better", "better than the period before: -5.0 points (-7.0 to -3.0)"),
        (-0.05, 0.05, "same", "no clear difference from the period before: -5.0 points"),
    ],
)
def test_a_change_in_words(value: float, p_value: float, kind: str, words: str) -> None:
    """What chance could have made is called no difference; every word stands with its figures."""
    told = change(compared(value, p_value))
    assert told.kind == kind
    assert told.words.startswith(words)


@pytest.mark.parametrize(
    ("p_value", "words"),
    [(0.0004, "by chance in fewer than 1 of 1000 cases"), (0.031, "by chance in 3.1\u202f% of cases (p = 0.031)")],
)
def test_a_p_value_in_words(p_value: float, words: str) -> None:
    """As how often chance would do it."""
    assert change(compared(0.05, p_value)).words.endswith(words)


@pytest.mark.parametrize(("judged", "missing"), [(5, "before"), (0, "now")])
def test_without_anything_judged_there_is_no_comparison(judged: int, missing: str) -> None:
    """It is said which side is missing."""
    none = RateComparison(answer(), answer(total=rate(judged, 0)), None, None, None, None)
    assert change(none).words == f"nothing was judged {missing}, so there is nothing to compare"
    assert change(none).kind == "unknown"


def test_a_chart_has_gaps_where_nothing_was_judged() -> None:
    """A step without runs is no rate of 0, and links nowhere."""
    rows = [RateRow("", DAY0 + HOUR, rate(10, 1)), RateRow("", DAY0 + 3 * HOUR, rate(4, 0))]
    drawn = chart(rows, Window(DAY0, DAY0 + 60 * HOUR, "", "svc"), Unit.TURN)
    (line,) = drawn["series"]
    assert len(drawn["times"]) == len(line["values"]) == 60
    assert drawn["times"][:2] == [DAY0 // 10**9, DAY0 // 10**9 + 3600]
    assert line["values"][:5] == [None, 0.1, None, 0.0, None]
    assert line["low"][1] == 0.0
    assert line["marks"][1] == "1 of 10 turns"
    assert drawn["links"][0] == ""
    assert "service=svc" in drawn["links"][1]
    assert "from=2026-11-20T01%3A00&to=2026-11-20T02%3A00" in drawn["links"][1]


def test_what_was_not_judged_stands_by_its_weight() -> None:
    """Most first; what there is none of is not said."""
    view = headline(answer(failed=2, open=7, filtered=0), compared(0, 1), WINDOW, Unit.RUN)
    assert view.unjudged == [("open", 7), ("failed", 2)]


def test_a_break_down_links_to_the_traces_it_counts() -> None:
    """Groups without an error are left out, a taxonomy's name is not shown, and bars are of the widest interval."""
    rows = (
        RateRow("trail/Formatting Errors", DAY0, rate(10, 5)),
        RateRow("own/Rude", DAY0, rate(10, 1)),
        RateRow("trail/Service Errors", DAY0, rate(10, 0)),
    )
    view = break_down(replace(answer(*rows), left=3), By.CATEGORY, WINDOW)
    assert [(row.name, bool(row.about)) for row in view.rows] == [
        ("Output generation: formatting errors", True),
        ("own/Rude", False),
    ]
    assert view.rows[0].href.endswith("category=Formatting+Errors&severity=LOW")
    assert (view.most, view.left) == (0.6, 3)


@pytest.mark.parametrize(
    ("by", "key", "name", "query"),
    [
        (By.DIMENSION, "PQ", "Plan Quality (PQ)", "dimension=PQ&severity=LOW"),
        (By.SEVERITY, "HIGH", "HIGH", "severity=HIGH"),
        (By.AGENT, "a&b", "a&b", "agent=a%26b&severity=LOW"),
        (By.TOOL, "PQ", "PQ", "tool=PQ&severity=LOW"),
    ],
)
def test_names_of_groups(by: By, key: str, name: str, query: str) -> None:
    """Our own words have their titles; a tool of the user's that is named like one of them keeps its name."""
    (row,) = break_down(answer(RateRow(key, DAY0, rate(3, 1))), by, WINDOW).rows
    assert row.name == name
    assert row.href.endswith(query)


def test_a_group_without_a_name_links_nowhere() -> None:
    """It says that it has none."""
    for by, name in ((By.MODEL, "no model"), (By.AGENT, "unnamed agent")):
        (row,) = break_down(answer(RateRow("", DAY0, rate(3, 1))), by, WINDOW).rows
        assert (row.name, row.href) == (name, "")


def sums(n: int, hits: int) -> Sums:
    return Sums(n, n, hits, hits, n, n, n, n, hits, hits, hits, hits, hits, hits, hits)


def test_each_version_is_compared_with_the_one_before() -> None:
    """The oldest with none; more findings are not called worse: the judge changed, not the agents."""
    seen = [
        VersionSeen("v3", "m", 5, 6, sums(400, 300)),
        VersionSeen("v2", "m", 3, 4, sums(400, 100)),
        VersionSeen("v1", "m", 1, 2, sums(0, 0)),
    ]
    rows = version_rows(seen)
    assert rows[0].change is not None
    assert rows[0].change.words.startswith("more errors than the version before: +50.0 points")
    assert rows[1].change is None
    assert rows[2].change is None
    assert version_rows([]) == []


def test_detectors_are_no_llm_judges() -> None:
    """Judges with words or a rate show, by name; a detector's rate does not."""
    rows = judge_rows(
        {"plan-quality": {Outcome.FAILED: 2}},
        answer(RateRow("mine", DAY0, rate(4, 1)), RateRow("ungrounded-turn", DAY0, rate(4, 1))),
        [],
    )
    assert [(row.name, row.share is None) for row in rows] == [("mine", False), ("plan-quality", True)]


def test_spend_of_this_hour_and_day() -> None:
    """Of all services together, against the caps that there are."""
    now = DAY0 + 5 * HOUR + 1
    spends = [Spend(DAY0 - HOUR, "a", 9.0, 9), Spend(DAY0, "a", 1.0, 10), Spend(DAY0 + 5 * HOUR, "b", 0.5, 5)]
    hour, day = against_caps(spends, {"usd_per_day": 1.0, "tokens_per_hour": 10, "tokens_per_day": 0}, now)
    assert (hour.usd, hour.tokens) == (0.5, 5)
    assert (day.usd, day.tokens) == (1.5, 15)
    assert [(cap.name, cap.used, cap.part) for cap in hour.caps] == [("tokens_per_hour", 5, 0.5)]
    assert [(cap.name, cap.used, cap.part) for cap in day.caps] == [
        ("usd_per_day", 1.5, 1.0),
        ("tokens_per_day", 15, 1.0),
    ]


def test_a_run_of_the_queue_says_how_it_was_drawn() -> None:
    """The form of that run needs stratum and probability; all are only parameters, whatever they hold."""
    drawn = queue_link(QueueItem("t/1", "run 1", "svc", "a", "why", "found/-/a&b", 0.25))
    assert drawn == "/traces/t%2F1?at=run%3Arun+1&stratum=found%2F-%2Fa%26b&probability=0.25&drawn=run+1"
    assert queue_link(QueueItem("t", "r", "svc", "a", "why")) == "/traces/t?at=run%3Ar"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("found/2/a/b", "with errors, lowest score 2 of a/b"),
        ("clean/-/shop", "without errors of shop"),
        ("clean/-/", "without errors of no service"),
        ("other", "other of no service"),
    ],
)
def test_a_stratum_in_words(name: str, words: str) -> None:
    """A service may be called anything."""
    assert spoken(name) == words


def test_progress_names_what_nobody_looked_at() -> None:
    """The largest first."""
    told = progress([Stratum("a", 5, 0, 0), Stratum("b", 9, 0, 0), Stratum("c", 7, 2, 1), Stratum("d", 0, 0, 0)])
    assert (told.runs, told.reviewed, told.waiting, [s.name for s in told.missing]) == (21, 2, 1, ["b", "a"])
