"""The tail of findings shows each once, in whatever numbers they come, and says how many it did not show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from served_api import KNOWN, NOW, Api, finding

from tracejury.collector.store.derived.deriving import derive
from tracejury.collector.web import tail as web_tail
from tracejury.collector.web.tail import BACKLOG, OVERLAP, SHOWN, Tail, TailBatch, read_place, write_place
from tracejury.collector.web.tail_lines import tail_lines
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, Position
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind

if TYPE_CHECKING:
    from browsing import Watched

QUERY = ErrorQuery(Confidence.of(""), 100)
MILLISECOND = 1_000_000
START = Position(NOW - 1)


def at(number: int, moment: int) -> Finding:
    """A finding of an error of its own, first seen so many milliseconds after NOW."""
    return finding(number, span_id=f"{number:016x}", turn=number, first_seen=NOW + moment * MILLISECOND)


def ids(*batches: TailBatch) -> list[str]:
    """What these brought."""
    return [row.finding.id for batch in batches for row in (*batch.found, *batch.latest)]


def drain(tail: Tail) -> Iterator[TailBatch]:
    """Until nothing is left, each time as far as the page is drawn."""
    while (batch := tail.poll()).more:
        yield batch
    yield batch


def test_each_is_shown_once_however_many_come_in_ten_seconds(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are remembered, by three hundred at a time, all within the time that looks go back."""
    monkeypatch.setattr(web_tail, "REMEMBERED", 600)
    tail = Tail(api.reader, QUERY, START)
    shown: list[str] = []
    many = 1_200
    for first in range(0, many, 300):
        api.put(*[at(n, n) for n in range(first, first + 300)])
        shown += ids(*drain(tail))
    assert many * MILLISECOND < OVERLAP
    assert shown == [f.id for f in api.found]
    assert ids(tail.poll()) == []


def test_findings_of_one_moment_are_told_apart(api: Api) -> None:
    """A place is a time and an id."""
    api.put(*[at(n, 1) for n in range(BACKLOG)])
    shown = ids(*drain(Tail(api.reader, QUERY, START)))
    assert shown == [f.id for f in api.found]


def test_one_that_cannot_be_kept_up_with_is_told_what_it_missed(api: Api) -> None:
    """Of a burst the latest are shown; the others are counted, and never shown as if they were new."""
    api.put(*[at(n, n) for n in range(1_000)])
    tail = Tail(api.reader, QUERY, START)
    seen = list(drain(tail))
    shown = ids(*seen)
    assert len(set(shown)) == len(shown)
    assert shown[-SHOWN:] == [f.id for f in api.found[-SHOWN:]]
    assert len(shown) + sum(look.skipped for look in seen) == 1_000
    api.put(at(1_000, 1_001))
    assert ids(*drain(tail)) == [api.found[-1].id]


@pytest.mark.parametrize(("waiting", "skipped"), [(BACKLOG, 0), (BACKLOG + 1, BACKLOG + 1 - SHOWN)])
def test_a_few_wait_and_more_are_skipped(api: Api, waiting: int, skipped: int) -> None:
    """At and above the bound of what waits behind the first page."""
    api.put(*[at(n, n) for n in range(200 + waiting)])
    first = Tail(api.reader, QUERY, START).poll()
    assert first.skipped == skipped


def test_one_that_becomes_readable_late_is_shown(api: Api) -> None:
    """As long as it is not older than the look goes back."""
    api.put(at(1, 0), at(2, 5_000))
    tail = Tail(api.reader, QUERY, START)
    assert len(ids(*drain(tail))) == 2
    late, lost = at(3, 1_000), at(4, -6_000)
    api.put(late, lost)
    assert ids(*drain(tail)) == [late.id]


def test_what_the_page_shows_already_is_older_than_what_a_stream_brings(api: Api) -> None:
    """A page begins with the latest hundred: those before them are none that came late."""
    api.put(*[at(n, n) for n in range(3 * SHOWN)])
    tail = Tail(api.reader, QUERY, api.reader.findings(QUERY)[0].position)
    shown = set(ids(*drain(tail)))
    assert shown <= {f.id for f in api.found[-SHOWN:]}
    assert tail.knows(api.found[-2].id)
    assert not tail.knows(api.found[0].id)


@pytest.mark.parametrize("place", [Position(1, "ab"), Position(1), Position(2**63, "0" * 32)])
def test_a_place_is_read_as_it_was_written(place: Position) -> None:
    """In an address or the id of an event."""
    assert read_place(write_place(place)) == place


@pytest.mark.parametrize("text", ["", "-", "x", "-1", "²", "1.5"])
def test_what_is_no_place_is_none(text: str) -> None:
    """Whoever wrote it."""
    assert read_place(text) is None


def told(api: Api, after: str, most: int) -> Sequence[tuple[str, str, object]]:
    """Id, name and data of the first events of the stream, until `most` findings are told or skipped."""
    found: list[tuple[str, str, object]] = []
    data: Any = None
    count, mark, name = 0, "", ""
    with api.client.stream("GET", "/live/events", params={"after": after}) as answer:
        for line in answer.iter_lines():
            if line.startswith("id: "):
                mark = line.removeprefix("id: ")
            elif line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
            elif not line and name:
                found.append((mark, name, data))
                count += data["count"] if name == "skipped" else 1
                name = ""
            if count >= most:
                break
    return found


def test_a_stream_tells_each_finding_once(api: Api) -> None:
    """A thousand of them in a second: those that are not shown are counted."""
    api.put(*[at(n, n) for n in range(1_000)])
    events = told(api, str(NOW - 1), 1_000)
    shown = [re.search(r'id="tail-(\w+)"', data["html"])[1] for _, name, data in events if name == "found"]  # type: ignore[index]
    assert len(set(shown)) == len(shown)
    assert len(shown) + sum(data["count"] for _, name, data in events if name == "skipped") == 1_000  # type: ignore[index]
    assert shown[-1] == api.found[-1].id


def test_a_browser_goes_on_where_it_was(api: Api) -> None:
    """The id of an event is the place of its finding, and only that page is told of older ones anew that shows them."""
    api.put(*[at(n, 0) for n in range(150)])
    mark = told(api, str(NOW - 1), 150)[-1][0]
    assert read_place(mark) == Position(NOW, api.found[-1].id)
    api.put(at(150, 1))
    again = told(api, mark, SHOWN)
    assert api.found[-1].id in str(again[-1])
    assert api.found[0].id not in str(again)


def test_a_finding_is_told_once_its_error_is_stored(api: Api) -> None:
    """A save stores findings before errors: a page that looks in between shows no line of its own for them."""
    api.put(at(0, 0), at(1, 1))
    tail = Tail(api.reader, QUERY, START)
    api.store.command("TRUNCATE TABLE errors")
    early = tail.poll().found
    assert len(early) == 2
    assert tail_lines(api.reader, early, QUERY.confidence) == []
    tail.leave(row.finding.id for row in early)
    derive(api.store, [("", KNOWN)])
    found = tail.poll().found
    assert [line.error is not None for line in tail_lines(api.reader, found, QUERY.confidence)] == [True, True]
    assert tail.poll().found == []


def test_an_error_is_shown_once_and_updated(api: Api, site: Watched) -> None:
    """Its further findings change its line, which goes with the last of them."""
    page = site.page
    first = at(1, 0)
    second = replace(first, id="b" * 32, first_seen=NOW + MILLISECOND, confidence=0.9, title="Told apart")
    api.put(at(0, 0), first)
    site.open("/errors")
    page.locator("#tail-status:has-text('live')").wait_for()
    assert page.locator("#tail .tail-row").count() == 2
    api.put(second)
    api.change_feed.publish("")
    line = page.locator(f"#tail-{second.id}")
    line.locator("strong:text-is('Told apart')").wait_for()
    assert page.locator("#tail .tail-row").count() == 2
    subject = Subject(SubjectKind.TRACE, KNOWN, KNOWN)
    judgement = Judgement(subject, "rule", "v1", "h", 1, 1, Outcome.DONE)
    for gone, left in (
        (first, f"[data-state=current][data-findings='{second.id}']"),
        (second, "[data-state=retracted]"),
    ):
        retracted = (replace(gone, state=FindingState.RETRACTED),)
        api.change_feed.subjects_judged([JudgedSubject(TraceState.SETTLED, (judgement,), retracted=retracted)])
        page.locator(f"#tail-{second.id}{left}").wait_for()
    site.check_quiet()


def test_the_page_says_how_many_it_does_not_show(api: Api, site: Watched) -> None:
    """In the place of those that went by, with a link to the list; while it is paused, once it goes on."""
    page = site.page
    site.open("/errors?severity=MEDIUM")
    page.locator("#tail-status:has-text('live')").wait_for()
    api.put(*[at(n, n) for n in range(900)])
    api.change_feed.publish("")
    page.locator(f"#tail-{api.found[-1].id}").wait_for()
    assert page.locator("#tail .tail-row").count() == 300
    assert page.inner_text(".tail-gap strong") == "600"
    site.check_accessible()
    page.click("#tail-pause")
    api.put(*[at(n, n) for n in range(900, 2_000)])
    api.change_feed.publish("")
    page.locator("#tail-status:text-is('paused, 1100 new')").wait_for()
    page.click("#tail-pause")
    page.locator(f"#tail-{api.found[-1].id}").wait_for()
    assert page.inner_text(".tail-gap >> nth=0 >> strong") == "1\u202f000"
    assert page.get_by_role("link", name="Traces with such errors").first.get_attribute("href") == (
        "/traces?severity=MEDIUM"
    )
    site.check_quiet()
