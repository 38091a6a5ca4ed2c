"""What the API refuses before any endpoint looks at it: bodies, and names that are not of this machine."""

from __future__ import annotations

import json

import httpx
import pytest
from served_api import KNOWN, Api, Judge, served
from starlette.types import ASGIApp

from tracejury.collector.api.access import Access
from tracejury.collector.api.guard import MAX_BODY
from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.otlp.receiver.origins import is_local
from tracejury.collector.otlp.receiver.ports import Endpoint


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_web_page_can_post_without_asking_is_refused(api: Api, content_type: str) -> None:
    """Only application/json may change something: browsers ask first before they send that elsewhere."""
    body = json.dumps({"trace_id": KNOWN})
    answer = api.client.post("/api/judge", content=body, headers={"content-type": content_type})
    assert answer.status_code == 415
    assert api.judge.asked == []


@pytest.mark.parametrize(("size", "status"), [(MAX_BODY, 422), (MAX_BODY + 1, 413), (10**7, 413)])
def test_a_large_body_is_refused_before_it_is_read(api: Api, size: int, status: int) -> None:
    """At the limit it is read, and found wanting; beyond it is not."""
    answer = api.client.post("/api/judge", content=b" " * size, headers={"content-type": "application/json"})
    assert answer.status_code == status


def test_a_body_of_unknown_length_is_refused(api: Api) -> None:
    """Chunked bodies could go on for ever."""
    answer = api.client.post("/api/judge", content=iter([b"{}"]), headers={"content-type": "application/json"})
    assert answer.status_code == 411


def test_a_body_that_is_not_json_is_refused(api: Api) -> None:
    """One line, no echo of the body."""
    answer = api.client.post("/api/judge", content="{", headers={"content-type": "application/json; charset=utf-8"})
    assert (answer.status_code, answer.json()) == (422, {"detail": "the body is not valid JSON"})


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("localhost:8321", True),
        ("app.localhost:1", True),
        ("127.0.0.1:8321", True),
        ("127.1.2.3", True),
        ("[::1]:8321", True),
        ("", False),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("0.0.0.0:8321", False),
        ("192.168.1.5", False),
        ("[::1", False),
        ("user@localhost.evil.example", False),
    ],
)
def test_only_names_of_this_machine_are_served(api: Api, host: str, local: bool) -> None:  # noqa: FBT001  a table
    """A name that someone else's page re-points here (DNS rebinding) gets nothing."""
    assert is_local(host) is local
    assert api.client.get("/api/errors", headers={"host": host}).status_code == (200 if local else 421)


@pytest.mark.parametrize("listening", [True, False])
@pytest.mark.parametrize("content_type", ["application/x-protobuf", "application/json"])
def test_otlp_is_told_its_own_port(api: Api, content_type: str, *, listening: bool) -> None:
    """In one line, whatever was sent and who sent it; before the receivers listen it has the default."""
    keyring = Keyring(closed=True, environment={})
    endpoints = [Endpoint("OTLP/gRPC", "http://127.0.0.1:14317"), Endpoint("OTLP/HTTP", "http://127.0.0.1:14318")]
    services = Services(
        api.reader,
        Judge(),
        problems=list,
        metrics=bytes,
        keyring=keyring,
        endpoints=lambda: endpoints if listening else (),
    )
    app = create_web_app(services)

    async def app_of(_project: str) -> ASGIApp:
        return app

    with served(Access(keyring, services.sign_ins, app_of)) as url:
        answer = httpx.post(f"{url}/v1/traces", content=b"{}", headers={"content-type": content_type})
        assert httpx.post(f"{url}/api/judge", json={}).status_code == 401
    at = "http://127.0.0.1:14318/v1/traces" if listening else "another, 4318"
    assert answer.status_code == 415
    assert answer.json() == {"detail": f"this is the port of API and pages; OTLP/HTTP is at {at}"}


def test_any_host_is_served_when_told_so(api: Api) -> None:
    """A collector for others answers to its own name."""
    app = create_web_app(Services(api.reader, Judge(), problems=list, metrics=bytes, any_host=True))
    with served(app) as url:
        assert httpx.get(f"{url}/api/errors", headers={"host": "tracejury.example"}).status_code == 200
