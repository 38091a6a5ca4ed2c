"""Who gets in to a whole collector, what is refused, and what every answer to somebody bears."""

from __future__ import annotations

import asyncio
import re
from itertools import product
from pathlib import Path

import grpc
import httpx
import pytest
from collecting import configured
from two_projects import Projects, Tenant, sent, sent_by_grpc
from walked import filled, routes

from tracejury.collector.api.access import OPEN, STATIC, needed_scope
from tracejury.collector.api.security import SECURE
from tracejury.collector.app.service import Collector
from tracejury.collector.auth.key import KeyScope
from tracejury.collector.auth.key_file import changing


async def test_only_a_key_with_ingest_sends(world: Projects) -> None:
    """Over both protocols; what was refused is not stored."""
    cases = [
        ("", "authorization", grpc.StatusCode.UNAUTHENTICATED, 401),
        ("wrong", "authorization", grpc.StatusCode.UNAUTHENTICATED, 401),
        ("reader", "authorization", grpc.StatusCode.PERMISSION_DENIED, 403),
        ("sender", "authorization", grpc.StatusCode.OK, 200),
        ("sender", "x-api-key", grpc.StatusCode.OK, 200),
    ]
    for number, (name, header, code, status) in enumerate(cases, 9):
        own = Tenant("acme", "", bytes([number]) * 16)
        value = world.tokens[name] if name else ""
        value = f"Bearer {value}" if header == "authorization" else value
        headers = {header: value} if name else {}
        assert await sent_by_grpc(world, own, tuple(headers.items())) is code, name
        assert (await sent(world, own, headers)).status_code == status, name
        stored = (await world.get(f"/api/traces/{own.trace_id}", world.acme)).status_code
        assert stored == (200 if status == 200 else 404), name


async def test_every_address_asks_for_a_key(world: Projects) -> None:
    """API, pages, metrics and documents; without one nothing is told, with one that lacks the scope neither."""
    for method, path in routes():
        address = filled(path, world.acme, "0" * 32)
        is_open = address in OPEN or address.startswith(STATIC)
        answer = await world.http.request(method, address, json={} if method != "GET" else None)
        if is_open:
            assert answer.status_code != 401, address
        else:
            assert answer.status_code == 401, (method, address)
        for word in (*world.acme.words, *world.globex.words):
            assert is_open or word not in answer.text.replace(address, ""), (method, address)
        needed = needed_scope(method, address)
        if not is_open and needed is not KeyScope.INGEST:
            refused = await world.http.request(method, address, headers=world.auth("sender"))
            assert refused.status_code == 403, (method, address)
        if not is_open and needed is not KeyScope.READ:
            refused = await world.http.request(method, address, json={}, headers=world.auth("reader"))
            assert refused.status_code == 403, (method, address)
        if needed is KeyScope.ADMIN and not is_open:
            refused = await world.http.request(method, address, json={}, headers=world.auth("labeller"))
            assert refused.status_code == 403, (method, address)


async def test_every_answer_is_for_one_browser_and_one_time(world: Projects) -> None:
    """No cache stores what a key is told, no page of others frames it, and refusals are no exception."""
    names = ("", "wrong", "expired", "sender", "reader")
    paths = ("/", "/traces", "/api/traces", "/metrics", "/api/nothing", "/nothing", "/sign-in", "/openapi.json")
    for name, path, accept in product(names, paths, ("text/html", "application/json")):
        headers = (world.auth(name) if name else {}) | {"accept": accept}
        answer = await world.http.get(path, headers=headers)
        assert answer.headers["cache-control"] == "no-store", (name, path)
        assert {key: answer.headers[key] for key in SECURE} == dict(SECURE), (name, path)


async def test_cookies_are_for_tls_alone_where_the_browser_speaks_it(world: Projects) -> None:
    """Also where a proxy in front ends it."""
    for proto, is_secure in (("", False), ("http", False), ("https", True), ("https, http", True)):
        async with httpx.AsyncClient(base_url=world.http.base_url, trust_env=False) as browser:
            headers = {"x-forwarded-proto": proto} if proto else {}
            form = await browser.get("/sign-in", headers=headers)
            token = re.findall(r'name="csrf" value="([^"]+)"', form.text)[-1]
            cookie = {"cookie": form.headers["set-cookie"].partition(";")[0]}
            fields = {"csrf": token, "key": world.acme.token}
            signed_in = await browser.post("/sign-in", data=fields, headers=headers | cookie)
            assert signed_in.status_code == 303
            for answer in (form, signed_in):
                assert ("Secure" in answer.headers["set-cookie"]) is is_secure, proto


async def test_another_site_signs_nobody_in(world: Projects) -> None:
    """Neither with a form of its own, nor with one it has read with a cookie of its own."""
    async with httpx.AsyncClient(base_url=world.http.base_url, trust_env=False) as thief:
        token = re.findall(r'name="csrf" value="([^"]+)"', (await thief.get("/sign-in")).text)[-1]
    fields = {"csrf": token, "key": world.acme.token}
    for headers in ({}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = await world.http.post("/sign-in", data=fields, headers=headers)
        assert answer.status_code == 403
        assert "tracejury_session" not in answer.headers.get("set-cookie", "")


async def test_a_forged_cookie_opens_nothing(world: Projects) -> None:
    """Only what was signed here does."""
    key_id = world.acme.token.split("_")[1]
    for value in (key_id, f'["{key_id}"]', f'WyJ{key_id}"]', f"WyI{key_id}.x.y", "x" * 50_000, "", "%00"):
        answer = await world.http.get("/api/traces", headers={"cookie": f"tracejury_session={value}"})
        assert answer.status_code == 401


async def test_a_flood_of_wrong_keys_cannot_change_its_address(world: Projects) -> None:
    """No header of a client's own says where it comes from; whoever has a right key goes on."""
    told = []
    for number in range(40):
        forged = dict.fromkeys(("x-forwarded-for", "x-real-ip", "forwarded", "client-ip"), f"10.0.0.{number}")
        told.append((await world.http.get("/api/traces", headers=world.auth("wrong") | forged)).status_code)
    assert told == [401] * 30 + [503] * 10
    assert (await world.get("/api/traces", world.acme)).status_code == 200


async def test_people_of_a_proxy_may_do_what_it_says(served_dsn: str, tmp_path: Path) -> None:
    """Its header counts from its address alone; there is no way in without it, also while there are no keys."""
    proxy = {"header": "X-Forwarded-User", "addresses": ["127.0.0.1"], "scopes": ["read"]}
    for addresses, status in ((["127.0.0.1"], 200), (["10.0.0.5"], 401)):
        keys = {"file": str(tmp_path / "none.json"), "proxy": proxy | {"addresses": addresses}}
        async with Collector(configured(served_dsn, keys=keys)) as collector:
            url = f"http://127.0.0.1:{collector.api_port}"
            async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
                ann = {"x-forwarded-user": "ann"}
                assert (await http.get("/api/traces", headers=ann)).status_code == status
                assert (await http.post("/api/judge", json={"since": "1d"}, headers=ann)).status_code in (401, 403)
                assert (await http.get("/api/traces")).status_code == 401
                assert (await http.post("/api/judge", json={"since": "1d"})).status_code == 401
            tenant = Tenant("acme", "", bytes([9]) * 16)
            async with httpx.AsyncClient(trust_env=False) as http:
                url = f"http://127.0.0.1:{collector.http_port}/v1/traces"
                body, media = tenant.request().SerializeToString(), {"content-type": "application/x-protobuf"}
                assert (await http.post(url, content=body, headers=media)).status_code == 401


async def test_people_sign_in_with_a_key(world: Projects) -> None:
    """A page leads to the form; a right key leads back; the cookie holds no key, and ends with it."""
    page = await world.get("/traces?q=x", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/sign-in?next=%2Ftraces%3Fq%3Dx")
    async with httpx.AsyncClient(base_url=world.http.base_url, trust_env=False) as browser:
        form = await browser.get(page.headers["location"])
        token = re.findall(r'name="csrf" value="([^"]+)"', form.text)[-1]
        wrong = {"csrf": token, "key": "tj_00000000_x", "next": "/traces?q=x"}
        refused = await browser.post("/sign-in", data=wrong)
        assert (refused.status_code, "not known here" in refused.text) == (401, True)
        right = await browser.post("/sign-in", data=wrong | {"key": world.acme.token})
        assert (right.status_code, right.headers["location"]) == (303, "/traces?q=x")
        cookie = right.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert world.acme.token.split("_", 2)[2] not in cookie
        seen = await browser.get("/traces")
        assert "acme-service" in seen.text
        assert "project acme" in seen.text
        # A second key, and the way between both.
        assert (await browser.post("/sign-in", data=wrong | {"key": world.globex.token})).status_code == 303
        both = await browser.get("/traces")
        assert "globex-service" in both.text
        assert "acme-service" not in both.text
        key_id = world.acme.token.split("_")[1]
        assert (await browser.post("/project", data={"csrf": token, "key": key_id})).status_code == 303
        assert "acme-service" in (await browser.get("/traces")).text
        foreign = await browser.post("/project", data={"csrf": token, "key": world.tokens["reader"].split("_")[1]})
        assert foreign.status_code == 303
        assert "acme-person" in (await browser.get("/traces")).text
        assert (await browser.post("/sign-out", data={"csrf": token})).status_code == 303
        assert (await browser.get("/traces", headers={"accept": "text/html"})).status_code == 303


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("/traces?q=x", "/traces?q=x"),
        ("//evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a//b", "/"),
        ("/\r\nSet-Cookie: a=b", "/"),
        ("", "/"),
    ],
)
def test_signing_in_leads_nowhere_else(given: str, target: str) -> None:
    from tracejury.collector.web.sign_in import local

    assert local(given) == target


async def test_a_revoked_key_is_refused_and_its_streams_end(world: Projects) -> None:
    """Live pages included, at their next event."""
    path = Path(world.collector.config.keys.file)
    async with world.http.stream("GET", "/live/events", headers=world.acme.headers()) as stream:
        assert stream.status_code == 200
        with changing(path) as keys:
            keys[:] = [key for key in keys if key.name != "acme-person"]
        async with asyncio.timeout(30):
            async for _ in stream.aiter_bytes():
                pass
    assert (await world.get("/api/traces", world.acme)).status_code == 401
    assert (await world.get("/api/traces", world.globex)).status_code == 200
