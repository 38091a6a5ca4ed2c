"""Other origins read nothing and change nothing; pages run nothing but our own files."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI, Response
from served_api import Api, Judge, served

from tracejury.collector.api.guard import MAX_BODY
from tracejury.collector.api.security import COOKIE, MAX_FIELDS, POLICY, SECURE, Tokens
from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.web.site import Form, action
from tracejury.schemas.errors import RetryableError

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def forms(one_api: Api) -> Iterator[httpx.Client]:
    """The pages with one more form, which tells what it was given."""
    app: FastAPI = create_web_app(Services(one_api.reader, Judge(), problems=list, metrics=bytes))

    @action(app, "/echo")
    def echo(form: Form) -> Response:
        return Response(form.get("word", ""), media_type="text/plain")

    with served(app) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield client


def token_of(client: httpx.Client) -> str:
    client.cookies.clear()
    found = re.search(r'"X-CSRF-Token": "([0-9a-f]{64})"', client.get("/").text)
    assert found
    return found[1]


@pytest.mark.parametrize("path", ["/", "/explain", "/nowhere", "/api/traces", "/api/nowhere", "/healthz", "/metrics"])
def test_every_answer_carries_the_headers(api: Api, path: str) -> None:
    """Pages, refusals and JSON alike."""
    headers = api.client.get(path, headers={"accept": "text/html"}).headers
    assert {name: headers.get(name) for name in SECURE} == dict(SECURE)


def test_the_policy_lets_nothing_inline_run() -> None:
    """Nothing is named but our own origin."""
    assert "unsafe" not in POLICY
    assert "*" not in POLICY
    assert POLICY.startswith("default-src 'none'; ")
    for directive in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "script-src 'self'"):
        assert directive in POLICY


def test_an_unexpected_error_is_a_page_with_the_headers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework answers it beyond all middleware."""
    monkeypatch.setattr(api.reader, "services", lambda *_: 1 / 0)
    answer = api.client.get("/fragments/services", headers={"accept": "text/html"})
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"] == POLICY
    assert "ZeroDivision" not in answer.text


def test_a_form_of_ours_is_taken(forms: httpx.Client) -> None:
    """With the token in a field, or in a header as htmx sends it."""
    token = token_of(forms)
    assert forms.post("/echo", data={"word": "ja", "csrf": token}).text == "ja"
    assert forms.post("/echo", data={"word": "ö & ü"}, headers={"X-CSRF-Token": token}).text == "ö & ü"
    assert forms.post("/echo", data={"word": "x", "csrf": token}, headers={"origin": str(forms.base_url)}).text == "x"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://[::1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_origin_changes_nothing(forms: httpx.Client, headers: dict[str, str]) -> None:
    """Not even with the right token, and not with JSON either."""
    token = token_of(forms)
    assert forms.post("/echo", data={"word": "x", "csrf": token}, headers=headers).status_code == 403
    assert forms.post("/api/judge", json={"trace_id": "a" * 32}, headers=headers).status_code == 403
    assert forms.get("/", headers=headers).status_code == 200


@pytest.mark.parametrize("token", ["", "0" * 64, "ü", None])
def test_a_form_without_its_token_is_refused(forms: httpx.Client, token: str | None) -> None:
    """A missing one, a wrong one."""
    token_of(forms)
    data = {"word": "x"} | ({} if token is None else {"csrf": token})
    answer = forms.post("/echo", data=data)
    assert (answer.status_code, answer.json()["detail"]) == (403, "this form is out of date: load the page again")


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "multipart/form-data; boundary=x", "application/xml", "", None]
)
@pytest.mark.parametrize("path", ["/echo", "/feedback/opinion"])
def test_no_other_kind_of_body_goes_around_the_token(forms: httpx.Client, path: str, kind: str | None) -> None:
    """What changes something on pages is a form: JSON is no way in, and neither is what browsers post unasked."""
    token_of(forms)
    headers = {} if kind is None else {"content-type": kind}
    answer = forms.post(path, content=b"word=x", headers=headers)
    assert answer.status_code == 415
    assert "only a form of these pages" in answer.json()["detail"]


def test_a_token_is_of_its_cookie(forms: httpx.Client) -> None:
    """A cookie that someone planted does not go with a token that they could read on a page of theirs."""
    token = token_of(forms)
    forms.cookies.clear()
    assert forms.post("/echo", data={"csrf": token}).status_code == 403
    assert forms.post("/echo", data={"csrf": token}, headers={"cookie": f"{COOKIE}=other"}).status_code == 403
    assert Tokens().of("c") != Tokens().of("c")


def test_the_cookie_is_for_this_site_and_no_script(forms: httpx.Client) -> None:
    """Browsers send it along with no other site's request."""
    forms.cookies.clear()
    cookie = forms.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "set-cookie" not in forms.get("/").headers


def test_the_api_takes_no_forms(forms: httpx.Client) -> None:
    """Its endpoints speak JSON, token or not."""
    token = token_of(forms)
    answer = forms.post("/api/judge", data={"trace_id": "a" * 32, "csrf": token})
    assert answer.status_code == 415


def test_a_form_has_a_limit(forms: httpx.Client) -> None:
    """Bodies are read whole."""
    token = token_of(forms)
    assert forms.post("/echo", data={"word": "x" * MAX_BODY, "csrf": token}).status_code == 413
    chunks = forms.post("/echo", content=iter([b"word=x"]), headers=FORM | {"X-CSRF-Token": token})
    assert chunks.status_code == 411


def test_a_form_of_too_many_fields_is_no_form(forms: httpx.Client) -> None:
    """None of ours has as many: it holds nothing, and so no token either."""
    token = token_of(forms)
    body = "&".join([*(f"f{n}=1" for n in range(MAX_FIELDS)), "word=x", f"csrf={token}"])
    assert forms.post("/echo", content=body, headers=FORM).status_code == 403


def test_bytes_that_are_no_text_are_no_error(forms: httpx.Client) -> None:
    """What a form holds is read as far as it is UTF-8."""
    token = token_of(forms)
    body = b"word=%ff\xff&csrf=" + token.encode()
    assert forms.post("/echo", content=body, headers=FORM).text == "\ufffd\ufffd"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/nowhere", {}, 404),
        ("/static/0/app.css", {}, 404),
        ("/explain/nothing", {}, 404),
        ("/?range=9y", {}, 422),
        ("/?from=tomorrow", {}, 422),
        ("/", {"host": "evil.example"}, 421),
    ],
)
def test_refusals_are_pages_for_people(api: Api, path: str, headers: dict[str, str], status: int) -> None:
    """And JSON for programs."""
    answer = api.client.get(path, headers={"accept": "text/html,*/*", **headers})
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert f'<p class="status">{status}</p>' in answer.text
    assert "detail" in api.client.get(path, headers=headers).json()


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/nowhere?range=7d&service=shop", "/traces?range=7d&amp;service=shop"),
        ("/traces/none?range=7d", "/traces?range=7d"),
        ("/?range=9y", "/traces"),
        ("/?from=tomorrow&service=shop", "/traces"),
    ],
)
def test_a_refusal_has_the_menu(api: Api, path: str, kept: str) -> None:
    """As every page, with the time and service of the address where these are not what is refused."""
    text = api.client.get(path, headers={"accept": "text/html"}).text
    assert f'href="{kept}" data-key="t"' in text
    assert 'name="q"' in text


def test_an_address_of_nothing_is_said_to_be_one(api: Api) -> None:
    """In words of ours beside the title."""
    assert "No page has this address." in api.client.get("/nowhere", headers={"accept": "text/html"}).text


def test_a_busy_store_is_a_page_with_another_try(api: Api) -> None:
    """And says when, for programs."""
    api.reader.fault = RetryableError("the store is busy", retry_after=7)
    answer = api.client.get("/overview/worst", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "7")
    assert "the store is busy" in answer.text
    assert "Try again" in answer.text


def test_what_a_refusal_names_is_text(api: Api) -> None:
    """A path or parameter of somebody else's choice is never markup."""
    answer = api.client.get("/explain/<script>alert(1)<%2Fscript>", headers={"accept": "text/html"})
    assert "<script>alert" not in answer.text
    answer = api.client.get("/?range=<img src=x>\u202e", headers={"accept": "text/html"})
    assert "<img src=x>" not in answer.text
    assert "\u202e" not in answer.text


def test_static_files_are_kept_forever(api: Api) -> None:
    """Their addresses hold a hash of their content."""
    sheet = re.search(r'href="(/static/[0-9a-f]{12}/app\.css)"', api.client.get("/").text)
    assert sheet
    answer = api.client.get(sheet[1])
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert api.client.get(sheet[1].replace("/static/", "/static/0")).status_code == 404
    assert api.client.get(sheet[1].replace("app.css", "vendor/README")).status_code == 404
