"""Every part of a page speaks of the time, the service and the profile that its address names."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from served_api import NOW, SECOND, Api, apart

from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.queries.ledger import LedgerEntry
from tracejury.schemas.queries.pipeline_stats import VerifierSeen
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.moments import iso_time
from tracejury.schemas.verdicts import Outcome, SubjectKind

HOUR = 3600 * SECOND
SPAN_OF_TIME = {"from": str(iso_time(NOW - 3 * HOUR)), "to": str(iso_time(NOW - HOUR))}


def test_severe_errors_are_those_of_the_time(api: Api) -> None:
    """What came after it ends shows no more than what came before it began."""
    api.put(
        *[
            apart(n, category=name, severity=Severity.HIGH, first_seen=NOW - int(hours * HOUR))
            for n, (name, hours) in enumerate([("before", 4), ("begin", 3), ("within", 2), ("end", 1), ("after", 0.5)])
        ]
    )
    shown = api.client.get("/overview/worst", params=SPAN_OF_TIME).text
    assert [name for name in ("before", "begin", "within", "end", "after") if f">{name}</a>" in shown] == [
        "begin",
        "within",
    ]


def test_severe_errors_are_those_of_the_profile(api: Api) -> None:
    """As the rates beside them; the link to all of them names it, too."""
    api.put(
        *[
            apart(n, category=name, severity=Severity.HIGH, confidence=confidence, first_seen=NOW - HOUR)
            for n, (name, confidence) in enumerate([("sure", 0.99), ("guess", 0.05)])
        ]
    )
    strict = api.client.get("/overview/worst", params={"profile": "strict"}).text
    everything = api.client.get("/overview/worst", params={"profile": "0"}).text
    assert ("sure" in strict, "guess" in strict) == (True, False)
    assert ("sure" in everything, "guess" in everything) == (True, True)
    assert "sort=severity&amp;profile=strict" in strict
    assert api.client.get("/overview/worst", params={"profile": "bad"}).status_code == 422


def test_the_worst_errors_are_the_latest_of_the_highest_severity_there_is(api: Api) -> None:
    """So the first thing on the overview is never empty while there are errors; the link to all says the same."""
    levels = [Severity.LOW, Severity.MEDIUM, Severity.LOW, Severity.HIGH, Severity.HIGH]
    found = [
        apart(n, category=f"kind-{n}", severity=level, first_seen=NOW - HOUR + n * SECOND)
        for n, level in enumerate(levels)
    ]
    shown = {}
    for held in (5, 3, 1, 0):
        api.empty()
        api.put(*found[:held])
        text = api.client.get("/overview/worst").text
        shown[held] = re.findall(r">(kind-\d)</a>", text), re.findall(r"/traces\?[^\"]*severity=(\w+)", text)
    assert shown[5] == (["kind-4", "kind-3"], ["HIGH"])
    assert shown[3] == (["kind-1"], ["MEDIUM"])
    assert shown[1] == (["kind-0"], ["LOW"])
    assert shown[0] == ([], ["LOW"])
    assert "No errors in this time." in text


@pytest.mark.parametrize("path", ["/judges", "/judges/plan-quality"])
def test_words_of_judges_are_those_of_the_time(api: Api, path: str) -> None:
    """On the page of all and on each judge's own."""
    word = LedgerRow(
        "", "", SubjectKind.AGENT_RUN, "r", "plan-quality", "v", "h", Outcome.FAILED, "", "m", 1.0, 0, 0, NOW, NOW
    )
    words = [
        LedgerEntry(replace(word, trace_id=name * 32, judged_at=NOW - hours * HOUR), name)
        for name, hours in (("a", 4), ("b", 2), ("c", 0))
    ]
    api.put_ledger(*words)
    text = api.client.get(path, params=SPAN_OF_TIME).text
    assert ["/traces/" + name * 32 in text for name in "abc"] == [False, True, False]


def test_the_page_of_judges_shows_what_verifiers_say_and_which_say_always_the_same(api: Api) -> None:
    """Names of models are text."""
    assert "Verification</a> of findings" not in api.client.get("/judges").text
    api.reader.pipeline_stats.given["verifiers"] = [
        VerifierSeen("<b>bold</b>", detectors=False, verified=57, refuted=2, unverified=1),
        VerifierSeen("some/model", detectors=True, verified=6, refuted=3, unverified=1),
    ]
    text = api.client.get("/judges").text.replace("\u202f", " ")
    assert "<b>bold" not in text
    for told in ("95.0 %<small", "60.0 %<small", "30.0 %<small", "it could refute hardly any"):
        assert told in text
    assert text.count("answers nearly always the same") == 1


def test_the_rates_of_judges_are_those_of_the_profile(api: Api) -> None:
    """One that there is not is refused."""
    assert api.client.get("/judges", params={"profile": "strict"}).status_code == 200
    assert [query.profile for query in api.reader.rates.asked] == ["strict"]
    assert api.client.get("/judges", params={"profile": "bad"}).status_code == 422


@pytest.mark.parametrize("query", ["range=9y", "from=tomorrow", "severity=bad", "profile=bad"])
def test_a_stream_of_what_there_is_not_is_refused(api: Api, query: str) -> None:
    """Before it begins: an answer that is under way can say nothing any more."""
    answer = api.client.get(f"/live/events?{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"]
