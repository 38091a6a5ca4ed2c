"""One webhook over the real store: once a fingerprint, whatever receiver, judges and restarts do."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from hook_server import PATIENCE, Held, Received, answer, hook_server, until
from store_parts import a_finding, a_run

from tracejury.collector.outbound.webhooks import webhook as webhook_module
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.queries.webhook_events import SENT, Event
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

NOW = 2_000
OPEN = {"state": FindingState.PROVISIONAL}


def failing(times: int, status: int = 500, headers: dict[str, str] | None = None) -> Any:
    """Fails so many times, then takes everything."""
    left = [times]

    def behave(handler: BaseHTTPRequestHandler, received: Received) -> None:
        left[0] -= 1
        (answer(status, headers) if left[0] >= 0 else answer(204))(handler, received)

    return behave


async def test_what_a_receiver_is_told(at_work: Any) -> None:
    """A provisional finding at once, signed, with its place, links and an id that can serve as a key."""
    finding = a_finding(**OPEN)
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.judge(finding, runs=(a_run(),), session_id="chat-1")
            (marked,) = await bench.deliveries.wait(1)
        (received,) = server.received
    said = received.said
    assert received.signed
    assert received.headers["webhook-timestamp"] == "0", "2,000 nanos after 1970"
    assert (said["type"], said["schema"], said["webhook"], said["id"]) == ("finding.found", 1, "ops", received.id)
    assert said["timestamp"] == "1970-01-01T00:00:00.000001Z"
    assert said["data"]["finding"]["evidence"] == "again and again"
    assert (said["data"]["finding"]["state"], said["data"]["finding"]["service"]) == ("provisional", "shop")
    assert said["data"]["finding"]["agent"] == "planner"
    assert said["data"]["trace"] == {
        "trace_id": finding.trace_id, "session_id": "chat-1", "task_id": None, "state": "settled",
        "grades": None,
    }  # fmt: skip
    assert said["data"]["links"]["span"] == f"http://pages/spans/{finding.span_id}?trace={finding.trace_id}"
    assert (marked.fingerprint, marked.event, marked.state) == (finding.fingerprint, Event.FOUND, SENT)


async def test_the_grades_of_the_trace_are_told(at_work: Any, store: SharedStore) -> None:
    """The mean ones of its runs, as far as judges have scored these when the message is made."""
    finding = a_finding()
    run = Subject(SubjectKind.AGENT_RUN, "run-1", finding.trace_id)
    rows = [
        Judgement(run, judge, "v", "h", 1, 1, Outcome.DONE, verdicts=(Verdict(judge, "v", run, score),))
        for judge, score in (("goal-fulfilment", 1), ("tool-calling", 2))
    ]
    StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, tuple(rows))])
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.judge(finding, runs=(a_run(),))
            await bench.deliveries.wait(1)
        (received,) = server.received
    grades = {"GF": 1.0, "TC": 2.0, "Goal": 1.0, "Action": 2.0, "GPA": 1.5}
    assert received.said["data"]["trace"]["grades"] == grades


async def test_once_whatever_is_judged_again(at_work: Any) -> None:
    """Confirmed, reworded, by another judge, after a restart: the receiver hears of a fingerprint once."""
    first = a_finding(**OPEN)
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.judge(first)
            await bench.deliveries.wait(1)
            bench.judge(a_finding(evidence="said otherwise"), retracted=[replace(first, state=FindingState.RETRACTED)])
            bench.judge(a_finding(judge="trajectory"), judged_at=3_000)
            bench.judge(a_finding(category="Timeout Issues"), judged_at=3_001)
            await bench.deliveries.wait(2)
        async with at_work(server.url) as bench:
            bench.judge(a_finding(category="Goal Deviation"), judged_at=3_002)
            await bench.deliveries.wait(1)
        assert [r.said["data"]["finding"]["category"] for r in server.received] == [
            "Resource Abuse", "Timeout Issues", "Goal Deviation",
        ]  # fmt: skip


async def test_what_an_earlier_process_left_is_sent_after_the_start(at_work: Any) -> None:
    """The store is the queue: nothing was hinted at; what another webhook was told makes no difference."""
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.judge(a_finding())
            await bench.deliveries.wait(1)
        async with at_work(server.url, name="other") as bench:
            await bench.deliveries.wait(1)
        async with at_work(server.url) as bench:
            bench.judge(a_finding(category="Timeout Issues"), judged_at=3_000)
            await bench.deliveries.wait(1)
        ids = [r.id for r in server.received]
    assert len(set(ids)) == 3


async def test_a_crash_between_sending_and_marking_repeats_the_same_id(at_work: Any) -> None:
    """At least once: a receiver that was told twice can tell."""
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.deliveries.mark = _never
            bench.judge(a_finding())
            await asyncio.to_thread(server.wait, 1)
        async with at_work(server.url) as bench:
            await bench.deliveries.wait(1)
        first, second = server.received
    assert first.id == second.id
    assert first.body == second.body


def _never(_delivered: object) -> None:
    raise RetryableError("killed before the mark", retry_after=3600)


@pytest.mark.parametrize("status", [500, 404, 301, 429, 503])
async def test_a_failure_is_tried_again_with_the_same_id(at_work: Any, status: int) -> None:
    """Whatever the status; each attempt is signed anew, and counted."""
    with hook_server(failing(2, status)) as server:
        async with at_work(server.url) as bench:
            bench.judge(a_finding())
            await bench.deliveries.wait(1)
            assert bench.metric("tracejury_webhook_attempts_total") == 3
            assert bench.metric("tracejury_webhook_sent_total") == 1
        assert len({r.id for r in server.received}) == 1
        assert all(r.signed for r in server.received)


async def test_a_receiver_may_say_when_to_come_again(at_work: Any) -> None:
    """Retry-After reaches the reckoning of the pause; without one nothing is asked."""
    with hook_server(failing(1, 503, {"retry-after": "7"})) as server:
        async with at_work(server.url) as bench:
            bench.judge(a_finding())
            await bench.deliveries.wait(1)
            server.behave = failing(1)
            bench.judge(a_finding(category="Timeout Issues"))
            await bench.deliveries.wait(2)
            assert bench.asked == [7.0, 0.0]


async def test_no_hold_is_longer_than_an_event_is_tried(at_work: Any) -> None:
    """Of a week, an hour is kept, and never more than `max_age_seconds`."""
    for seconds, kept in ((86_400, 3_600.0), (60, 60.0)):
        with hook_server(failing(1, 503, {"retry-after": "604800"})) as server:
            async with at_work(server.url, max_age_seconds=seconds) as bench:
                bench.judge(a_finding(category=f"after {seconds}"))
                await bench.deliveries.wait(1)
                assert bench.asked == [kept]


async def test_a_receiver_that_is_gone_is_told_nothing_more(at_work: Any) -> None:
    """410 switches the webhook off; the next start tries it once again."""
    with hook_server(answer(410)) as server:
        async with at_work(server.url) as bench:
            bench.judge(a_finding())
            await asyncio.to_thread(server.wait, 1)
            await until(lambda: bench.webhook.is_disabled)
            bench.judge(a_finding(category="Timeout Issues"))
            assert bench.webhook.waiting == 0
        assert len(server.received) == 1
        server.behave = answer(204)
        async with at_work(server.url) as bench:
            await bench.deliveries.wait(2)


async def test_a_receiver_that_is_gone_gets_nothing_of_what_was_being_read(at_work: Any) -> None:
    """Its answer comes while the store is looked at: what that finds is not kept for it."""
    reading, gone, looked = threading.Event(), threading.Event(), threading.Event()

    with hook_server(answer(410)) as server:
        async with at_work(server.url) as bench:
            look, stays = bench.deliveries.read_findings, bench.deliveries.stays

            def look_long(*of: Any) -> Any:
                found = look(*of)
                if len(found.found) > 1:
                    reading.set()
                    assert gone.wait(PATIENCE)
                    bench.deliveries.stays = told
                return found

            def told(*of: Any) -> bool:
                looked.set()
                return bool(stays(*of))

            bench.deliveries.read_findings = look_long
            server.behave = held = Held(answer(410))
            bench.judge(a_finding())
            await asyncio.to_thread(server.wait, 1)
            bench.judge(a_finding(category="Timeout Issues"))
            assert await asyncio.to_thread(reading.wait, PATIENCE)
            held.go_on.set()
            await until(lambda: bench.webhook.is_disabled)
            gone.set()
            assert await asyncio.to_thread(looked.wait, PATIENCE)
            assert bench.webhook.waiting == 0
        assert len(server.received) == 1


async def test_a_retraction_is_told_once(at_work: Any) -> None:
    """Also where the finding was taken back while it was being sent."""
    finding = a_finding(**OPEN)
    gone = replace(finding, state=FindingState.RETRACTED)
    arrived, go_on = threading.Event(), threading.Event()

    def held(handler: BaseHTTPRequestHandler, received: Received) -> None:
        arrived.set()
        assert go_on.wait(PATIENCE)
        answer(204)(handler, received)

    with hook_server(held) as server:
        async with at_work(server.url, retractions=True) as bench:
            bench.judge(finding)
            await asyncio.to_thread(arrived.wait, PATIENCE)
            bench.judge(retracted=[gone], judged_at=3_000)
            go_on.set()
            await bench.deliveries.wait(2)
            bench.judge(retracted=[gone], judged_at=3_001)
            bench.judge(a_finding(category="Timeout Issues"), judged_at=3_002)
            await bench.deliveries.wait(3)
        assert [r.said["type"] for r in server.received] == ["finding.found", "finding.retracted", "finding.found"]
        assert server.received[1].said["data"]["finding"]["state"] == "retracted"


async def test_a_thousand_findings_at_once_stay_within_bounds(at_work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds no room in memory waits in the store; each arrives, once."""
    monkeypatch.setattr(webhook_module, "MAX_MESSAGES", 100)
    most = 0

    def watched(handler: BaseHTTPRequestHandler, received: Received) -> None:
        nonlocal most
        most = max(most, bench.webhook.waiting)
        answer(204)(handler, received)

    with hook_server(watched) as server:
        async with at_work(server.url) as bench:
            bench.judge(*(a_finding(span_id=f"{number:016x}", turn=number) for number in range(1_000)))
            marked = await bench.deliveries.wait(1_000)
        assert len(marked) == len({m.fingerprint for m in marked}) == len(server.received) == 1_000
    assert 50 <= most <= 100


async def test_hostile_content_travels_as_text(at_work: Any) -> None:
    """Line breaks, quotes, escapes and lone surrogates are data in valid JSON, never headers."""
    evidence = 'x"\r\nwebhook-id: forged\r\n\r\n</script>\x1b[2J\u202e'
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.judge(a_finding(evidence=evidence))
            await bench.deliveries.wait(1)
        (received,) = server.received
    assert received.said["data"]["finding"]["evidence"] == evidence
    assert received.id.startswith("msg_")


async def test_what_an_event_holds_is_bounded(at_work: Any) -> None:
    """Names and explanations are as long as agents want, and what waits is in memory: they are cut, with a mark."""
    long = "x" * 1_000_000
    finding = a_finding(evidence="e" * 2_000, explanation=long)
    with hook_server() as server:
        async with at_work(server.url) as bench:
            bench.judge(finding, runs=(a_run(name=long),), session_id=long, service=long)
            await bench.deliveries.wait(1)
        (received,) = server.received
    data = received.said["data"]
    assert data["finding"]["agent"] == data["finding"]["service"] == data["trace"]["session_id"] == "x" * 1_000 + "…"
    assert data["finding"]["explanation"] == "x" * 4_000 + "…"
    assert data["finding"]["evidence"] == finding.evidence
    assert len(received.body) < 20_000
