"""Following errors: each once, in order, across silences and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from served_api import NOW, SECOND, Api, apart, finding

from tracejury.collector.api.client import ApiClient
from tracejury.collector.api.client_connection import UnreachableError
from tracejury.collector.api.client_requests import PAGE
from tracejury.collector.cli import follow as following
from tracejury.collector.cli.follow import OVERLAP, Follower, follow
from tracejury.schemas.errors import OverloadedError
from tracejury.schemas.findings import Finding
from tracejury.schemas.text.moments import iso_time

LATE = int(OVERLAP.total_seconds())


@pytest.fixture
def client(api: Api) -> Iterator[ApiClient]:
    with ApiClient(api.url) as client:
        yield client


def numbers(follower: Follower) -> list[int]:
    return [int(row.finding_ids[0], 16) for row in follower.look()]


def test_from_now_on_only_what_is_new_shows(api: Api, client: ApiClient) -> None:
    """What was there before is not shown; a silent look shows nothing."""
    api.put(apart(-5))
    follower = Follower(client, {})
    assert numbers(follower) == []
    api.put(apart(2), apart(1))
    assert numbers(follower) == [1, 2]
    assert numbers(follower) == []


def test_since_shows_what_was_there_first(api: Api, client: ApiClient) -> None:
    """Earliest first, from the given point in time on."""
    api.put(apart(-60), apart(-5), apart(-4))
    follower = Follower(client, {}, iso_time(NOW - 30 * SECOND) or "")
    assert [row.finding_ids[0] for row in follower.look()] == [apart(-5).id, apart(-4).id]


def test_what_becomes_readable_late_still_shows(api: Api, client: ApiClient) -> None:
    """An error with an earlier time than one already shown is found by looking back."""
    follower = Follower(client, {})
    list(follower.look())
    api.put(apart(100), apart(200))
    assert numbers(follower) == [100, 200]
    api.put(apart(200 - LATE + 1))
    assert numbers(follower) == [200 - LATE + 1]
    assert numbers(follower) == []


def test_nothing_repeats_over_a_long_time(api: Api, client: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors for four times as long as looks go back, a look every second: each shows once, little is remembered."""
    late = 8
    monkeypatch.setattr(following, "OVERLAP", timedelta(seconds=late))
    follower = Follower(client, {})
    list(follower.look())
    shown: list[int] = []
    for second in range(1, 4 * late):
        api.put(apart(second))
        shown += numbers(follower)
    assert shown == list(range(1, 4 * late))
    assert len(follower._seen) <= late + 1


def test_more_than_a_page_at_once(api: Api, client: ApiClient) -> None:
    """A burst with one and the same time, longer than a page, shows whole and once."""
    follower = Follower(client, {})
    list(follower.look())
    api.put(*[apart(1, id=f"{n:032x}") for n in range(PAGE * 2 + 1)])
    assert sorted(numbers(follower)) == list(range(PAGE * 2 + 1))
    assert numbers(follower) == []


def test_a_further_finding_of_an_error_is_not_news(api: Api, client: ApiClient) -> None:
    """Neither where it joins the error, nor where it leads it from now on and gives it another id."""
    follower = Follower(client, {})
    list(follower.look())
    api.put(finding(1))
    (shown,) = follower.look()
    api.put(finding(2, judge="another rule"))
    assert list(follower.look()) == []
    api.put(finding(3, span_id="3" * 16, confidence=0.99))
    (now,), _ = client.errors({}, 10)
    assert (now.id != shown.id, len(now.finding_ids)) == (True, 3)
    assert list(follower.look()) == []


def test_filters_stay(api: Api, client: ApiClient) -> None:
    """Every look asks with the same filters."""
    follower = Follower(client, {"profile": "0.9"})
    list(follower.look())
    api.put(apart(1, confidence=0.8), apart(2, confidence=0.95))
    assert numbers(follower) == [2]


def test_a_collector_that_goes_away_is_waited_for(api: Api, client: ApiClient) -> None:
    """Told once a gap; afterwards nothing is missing and nothing repeats."""
    told: list[str] = []
    script: list[Finding | Exception] = [apart(1), OverloadedError("disk full"), OverloadedError("disk full")]
    script += [apart(2), OverloadedError("disk full"), apart(3)]

    def wait(_seconds: float) -> None:
        step = script.pop(0)
        api.reader.fault = step if isinstance(step, Exception) else None
        if not isinstance(step, Exception):
            api.put(step)

    rows = follow(Follower(client, {}), on_gap=told.append, wait=wait)
    assert [int(next(rows).finding_ids[0], 16) for _ in range(3)] == [1, 2, 3]
    assert told == ["disk full; waiting for it"] * 2


def test_a_collector_that_was_never_there_is_an_error() -> None:
    """The first look fails with the line that says how to start one."""
    with ApiClient("http://127.0.0.1:1") as client, pytest.raises(UnreachableError, match="tracejury serve"):
        next(follow(Follower(client, {}), on_gap=print))
