"""The HTTP API: what it answers, what it refuses, and how."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio.to_thread
import httpx
import pytest
from served_api import KNOWN, NOW, PLAIN, QUIET, SECOND, SPAN, Api, apart, finding, row

from tracejury.collector.api.judging import JUDGING_THREADS
from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.judges.causes import led_by
from tracejury.schemas.errors import OverloadedError, StoreError
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import Judgement


@pytest.mark.parametrize("profile", ["", "strict", "balanced", "recall", "0.5"])
def test_a_known_trace_is_its_json(api: Api, profile: str) -> None:
    """With the findings at and above the profile's confidence; of none, that of balanced."""
    least = threshold(profile or "balanced")
    api.put(finding(1, confidence=least), finding(2, confidence=least - 0.001))
    shown = api.get(f"/api/traces/{KNOWN}", **({"profile": profile} if profile else {}))
    assert shown["trace_id"] == KNOWN
    assert [f["id"] for f in shown["findings"]] == [finding(1).id]


def test_ids_are_taken_in_any_case(api: Api) -> None:
    """Ids are stored in lower case; people copy them as they find them."""
    api.put_known()
    assert api.get(f"/api/traces/{KNOWN.upper()}")["trace_id"] == KNOWN


@pytest.mark.parametrize(
    "path", [f"/api/traces/{'f' * 32}", "/api/traces/x", f"/api/spans/{'f' * 16}/errors", "/api/spans/%20/errors"]
)
def test_an_unknown_id_is_404(api: Api, path: str) -> None:
    """The line names the id."""
    status, detail = api.get(path)
    assert status == 404
    assert "is stored" in detail


def test_a_known_id_without_errors_is_an_empty_list(api: Api) -> None:
    """Nothing found is an answer, not an error."""
    api.put_known()
    assert api.get(f"/api/spans/{QUIET}/errors") == {"items": [], "next": None, "unknown": {}}
    assert api.get("/api/errors", trace=PLAIN) == {"items": [], "next": None, "unknown": {}}
    for path in ("/api/errors", "/api/findings"):
        assert api.get(path) == {"items": [], "next": None, "unknown": {}}


def test_a_span_is_known_within_the_trace_that_is_named(api: Api) -> None:
    """The errors of a span are listed over traces; `trace` narrows, and an unknown one is 404."""
    api.put(finding(1), finding(2, trace_id=PLAIN))
    assert len(api.get(f"/api/spans/{SPAN}/errors")["items"]) == 2
    assert [f["trace_id"] for f in api.get(f"/api/spans/{SPAN}/errors", trace=PLAIN)["items"]] == [PLAIN]
    assert api.get(f"/api/spans/{SPAN}/errors", trace="c" * 32)[0] == 404


@pytest.mark.parametrize("path", ["/api/errors", "/api/findings"])
def test_errors_carry_service_and_agent(api: Api, path: str) -> None:
    """Outside their trace they say where they belong."""
    api.put(finding(1))
    (item,) = api.get(path)["items"]
    assert (item["service"], item["agent"], item["span_id"]) == ("svc", "agent", SPAN)


def test_findings_with_one_cause_are_one_error(api: Api) -> None:
    """Its lead says what it is; it counts once, by the least severity that is asked for, and names all findings."""
    sure = finding(1, title="Argument the tool does not take", confidence=0.9, severity=Severity.LOW)
    api.put(sure, finding(2, judge="other", severity=Severity.HIGH))
    (item,) = api.get("/api/errors")["items"]
    assert (item["id"], item["title"], item["confidence"]) == (led_by(sure), sure.title, 0.9)
    assert (item["severity"], item["state"], item["shown_trace_id"]) == ("HIGH", "current", KNOWN)
    assert (item["finding_ids"], item["judges"]) == ([finding(1).id, finding(2).id], ["rule", "other"])
    assert len(api.get("/api/findings")["items"]) == 2
    assert api.get("/api/errors", profile="0.8")["items"][0]["severity"] == "LOW"
    assert api.get(f"/api/traces/{KNOWN}")["errors"] == [{**item, "agent": None}]


def test_an_error_is_found_from_each_of_its_spans(api: Api) -> None:
    """With the span's role."""
    shown, read, repeated = "3" * 16, "4" * 16, "5" * 16
    api.put(finding(1, tool_span_id=shown, seen_by_span_id=read, also_at=(repeated,)))
    roles = {SPAN: "decided at", shown: "shown at", read: "read at", repeated: "also at"}
    for span_id, role in roles.items():
        (item,) = api.get(f"/api/spans/{span_id}/errors")["items"]
        assert (item["role"], item["span_id"]) == (role, SPAN)
        assert (item["shown_at"], item["read_at"], item["repeated_at"]) == (shown, read, [repeated])
        assert [one["id"] for one in api.get("/api/errors", span=span_id)["items"]] == [item["id"]]


def test_an_error_has_an_address(api: Api) -> None:
    """By its id, the id of one of its findings, or the beginning of either; with its findings, the lead's first."""
    sure = finding(0xAB, confidence=0.9)
    api.put(finding(0xCD), sure)
    for given in (led_by(sure), led_by(sure).upper(), led_by(sure)[:8], finding(0xCD).id, f"{finding(0xCD).id[:-1]}…"):
        shown = api.get(f"/api/errors/{given}")
        assert shown["id"] == led_by(sure)
        assert [f["id"] for f in shown["findings"]] == [sure.id, finding(0xCD).id] == shown["finding_ids"]
    assert api.get("/api/errors/0000")[0] == 422
    assert api.get("/api/errors/ffff")[0] == 404


@pytest.mark.parametrize("path", ["/api/errors", "/api/findings"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_pages_cover_all_once(api: Api, count: int, path: str) -> None:
    """Latest first, page by page of two; `next` is null exactly on the last page."""
    api.put(*[apart(n // 2, id=f"{n:032x}") for n in range(count)])
    seen: list[str] = []
    cursor = ""
    while True:
        page = api.get(path, limit="2", **({"cursor": cursor} if cursor else {}))
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = page["next"]
    latest = sorted(api.found, key=lambda f: (f.first_seen, _id(path, f)), reverse=True)
    assert seen == [_id(path, f) for f in latest]


def test_pages_of_traces_cover_all_once(api: Api) -> None:
    """The same for traces, by latest arrival."""
    api.put_rows(*[row(n) for n in range(5)])
    first = api.get("/api/traces", limit="3")
    second = api.get("/api/traces", limit="3", cursor=first["next"])
    assert [r["trace_id"] for r in first["items"] + second["items"]] == [row(n).trace_id for n in range(5)]
    assert second["next"] is None


def _id(path: str, found: Finding) -> str:
    return found.id if path == "/api/findings" else led_by(found)


def test_what_comes_after_the_last_year_is_nothing(api: Api) -> None:
    """A time that no clock of nanoseconds reaches is the last that one does."""
    found = api.get("/api/errors", after="9999-12-31")
    assert found["items"] == []
    assert api.get("/api/errors", after=found["next"]) == found


@pytest.mark.parametrize("path", ["/api/errors", "/api/findings"])
def test_after_follows_what_is_new(api: Api, path: str) -> None:
    """Earliest first; `next` is the next `after` even when there was nothing, so a follower never loses its place."""
    api.put(apart(1))
    start = api.get(path, after="now", limit="1000")
    assert [item["id"] for item in start["items"]] == [_id(path, apart(1))]
    nothing = api.get(path, after=start["next"])
    assert nothing["items"] == []
    api.put(apart(3), apart(2))
    later = api.get(path, after=nothing["next"])
    assert [item["id"] for item in later["items"]] == [_id(path, apart(2)), _id(path, apart(3))]
    assert api.get(path, after=later["next"])["items"] == []


@pytest.mark.parametrize("path", ["/api/errors", "/api/findings"])
def test_all_filters_reach_the_reader(api: Api, path: str) -> None:
    """Each parameter becomes the field of the question that it names."""
    api.get(
        path,
        span=SPAN,
        trace=KNOWN,
        service="s",
        agent="a",
        judge="j",
        category="c",
        severity="HIGH",
        profile="0.25",
        since="1h",
        limit="7",
    )
    assert api.reader.asked[-1] == ErrorQuery(
        confidence=Confidence(0.25, 0.25),
        limit=8,
        trace_id=KNOWN,
        span_id=SPAN,
        service="s",
        agent="a",
        judge="j",
        category="c",
        severity=Severity.HIGH,
        since=NOW - 3600 * SECOND,
    )


def test_without_a_profile_unrecognised_conventions_are_strict(api: Api) -> None:
    """Two thresholds: balanced for what was recognised, strict for the rest."""
    api.get("/api/errors")
    confidence = api.reader.asked[-1].confidence
    assert confidence == Confidence(Confidence.of("balanced").recognised, Confidence.of("strict").recognised)
    assert confidence.least(["openinference"]) < confidence.least([])


@pytest.mark.parametrize(
    ("params", "part"),
    [
        ({"limit": "0"}, "limit: "),
        ({"limit": "1001"}, "limit: "),
        ({"limit": "x"}, "limit: "),
        ({"severity": "WORST"}, "severity: "),
        ({"profile": "brave"}, "unknown profile 'brave'"),
        ({"profile": "1.5"}, "unknown profile '1.5'"),
        ({"since": "soon"}, "since: 'soon' is no point in time"),
        ({"cursor": "!!!"}, "cursor: '!!!' is not the `next` of a page"),
        ({"cursor": "é"}, "is not the `next` of a page"),
        ({"after": "later"}, "after: 'later' is not the `next` of a page"),
        ({"cursor": "a", "after": "now"}, "either cursor or after"),
        ({"severty": "HIGH"}, "unknown parameter 'severty'; there are: trace, service, "),
        ({"limit": "many"}, "limit: must be a whole number"),
        ({"service": "x" * 1001}, "service: "),
    ],
)
def test_bad_parameters_are_refused_in_one_line(api: Api, params: dict[str, str], part: str) -> None:
    """422, and the line names the parameter."""
    status, detail = api.get("/api/errors", **params)
    assert status == 422
    assert part in detail
    assert "\n" not in detail
    assert api.reader.asked == []


@pytest.mark.parametrize(
    "value",
    [
        ["cursor", -1, "x"],
        ["cursor", True, "x"],
        ["cursor", 1.5, "x"],
        ["cursor", 1],
        {"a": 1},
        ["after", 1, "x"],
        [["cursor"], 1, "x"],
    ],
)
def test_a_forged_cursor_is_refused(api: Api, value: object) -> None:
    """A cursor of another form, or of the other direction, is no cursor."""
    text = base64.urlsafe_b64encode(json.dumps(value).encode()).decode()
    assert api.get("/api/errors", cursor=text)[0] == 422


@pytest.mark.parametrize(
    ("error", "status"), [(OverloadedError("disk full", retry_after=3), 503), (StoreError("broken"), 500)]
)
def test_failures_of_the_store_say_whether_to_try_again(api: Api, error: Exception, status: int) -> None:
    """A passing failure is 503 with Retry-After, a lasting one 500; both with their line."""
    api.reader.fault = error
    answer = api.client.get("/api/errors")
    assert (answer.status_code, answer.json()) == (status, {"detail": str(error)})
    assert answer.headers.get("retry-after") == ("3" if status == 503 else None)


def test_an_unexpected_error_tells_nothing_of_the_inside(api: Api) -> None:
    """500 with a line of ours; the log has the rest. The connection ends, and the client is told so."""
    api.reader.fault = KeyError("secret")
    answer = api.client.get("/api/errors")
    assert answer.status_code == 500
    assert answer.headers["connection"] == "close"
    assert "secret" not in answer.text
    assert "log" in answer.json()["detail"]


def test_one_trace_is_judged_again(api: Api) -> None:
    """The answer says what was judged."""
    answer = api.client.post("/api/judge", json={"trace_id": KNOWN.upper()})
    assert answer.json() == {
        "items": [{"trace_id": KNOWN, "findings": 1, "shown": 0, "failures": [], "pending_judges": 0}],
        "next": None,
    }
    assert api.judge.asked == [[KNOWN]]
    assert api.judge.by_hand == [True]


def test_traces_since_are_judged_page_by_page(api: Api) -> None:
    """Latest first; `next` leads to the rest; those that arrived before are left alone."""
    api.put_rows(*[row(n) for n in range(5)])
    body: dict[str, Any] = {"since": "3s", "limit": 3}
    first = api.client.post("/api/judge", json=body).json()
    second = api.client.post("/api/judge", json={**body, "cursor": first["next"]}).json()
    assert api.judge.asked == [[row(n).trace_id for n in range(3)], [row(3).trace_id]]
    assert api.judge.by_hand == [False, False]
    assert second["next"] is None


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"trace_id": "f" * 32}, 404),
        ({}, 422),
        ({"trace_id": KNOWN, "since": "1h"}, 422),
        ({"since": "soon"}, 422),
        ({"trace_id": 5}, 422),
        ({"trace": KNOWN}, 422),
        ([], 422),
    ],
)
def test_judging_nothing_known_is_refused(api: Api, body: object, status: int) -> None:
    """An unknown trace is 404, an unclear wish 422; each with one line."""
    answer = api.client.post("/api/judge", json=body)
    assert answer.status_code == status
    assert isinstance(answer.json()["detail"], str)


def test_ready_only_without_problems(api: Api) -> None:
    """Alive is not ready: 503 with what is missing, then 200."""
    api.problems.append("the store is not open")
    assert api.get("/healthz")["status"] == "ok"
    assert api.get("/readyz") == (503, "the store is not open")
    api.problems.clear()
    assert api.get("/readyz") == {"status": "ready"}


def test_metrics_are_prometheus_text(api: Api) -> None:
    """As they are given, with the content type that scrapers expect."""
    answer = api.client.get("/metrics")
    assert (answer.text, answer.headers["content-type"]) == (
        "accepted_spans 1\n",
        "text/plain; version=0.0.4; charset=utf-8",
    )


def test_openapi_documents_every_endpoint_and_no_page_loads_from_elsewhere(api: Api) -> None:
    """The document names all paths and the shapes of their answers; there is no docs page of a foreign CDN."""
    document = api.get("/openapi.json")
    assert set(document["paths"]) >= {
        "/api/traces",
        "/api/traces/{trace_id}",
        "/api/spans/{span_id}/errors",
        "/api/errors",
        "/api/judge",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    answer = document["paths"]["/api/errors"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorPage"}
    assert "span_id" in document["components"]["schemas"]["ErrorJson"]["properties"]
    assert api.get("/docs")[0] == 404
    assert api.get("/redoc")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/api/nowhere/", 404), ("DELETE", "/api/errors", 405)],
)
def test_unknown_paths_and_methods_are_refused_in_the_same_form(api: Api, method: str, path: str, status: int) -> None:
    """`detail` in one line, whoever refuses."""
    answer = api.client.request(method, path, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert isinstance(answer.json()["detail"], str)


def test_hostile_text_is_still_json(api: Api) -> None:
    """Markup in evidence stays text, and no browser takes the answer for a page."""
    api.put(replace(finding(1), evidence="</script>\x00"))
    (item,) = api.get("/api/errors")["items"]
    assert item["evidence"] == "</script>\x00"
    assert api.client.get("/api/errors").headers["x-content-type-options"] == "nosniff"


async def test_health_and_reads_are_answered_while_judgings_are_waited_for(api: Api) -> None:
    """However many there are, nobody takes the collector for dead, and what is stored can be read."""
    entered, free = threading.Semaphore(0), threading.Event()

    def slow(_ids: Sequence[str], _by_hand: bool) -> Sequence[Judgement]:  # noqa: FBT001  JudgeAgain
        entered.release()
        assert free.wait(30)
        return ()

    app = create_web_app(
        Services(api.reader, slow, problems=list, metrics=lambda: b"accepted_spans 1\n", clock=lambda: NOW)
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        threads = int(anyio.to_thread.current_default_thread_limiter().total_tokens)
        asking = [asyncio.create_task(client.post("/api/judge", json={"trace_id": KNOWN})) for _ in range(threads + 5)]
        try:
            for _ in range(JUDGING_THREADS):
                assert await asyncio.to_thread(entered.acquire, timeout=20)
            async with asyncio.timeout(20):
                answers = [await client.get(path) for path in ("/healthz", "/readyz", "/metrics", "/api/traces")]
        finally:
            free.set()
            await asyncio.gather(*asking)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200]
