"""The OpenAPI document against the API, by schemathesis, for keys of every kind, with data in several projects.

The normal run tries each operation a few times from a fixed seed; `--hypothesis-profile soak` tries many.
"""

from __future__ import annotations

import asyncio
import json
from itertools import cycle
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from sizes import sized
from two_projects import Projects

from tracejury.collector.api.access import is_open, needed_scope
from tracejury.collector.auth.key import KeyScope

schemathesis = pytest.importorskip("schemathesis", reason="the group `dev` holds it")
pytestmark = pytest.mark.timeout(900)

SCOPES = {
    "acme": set(KeyScope),
    "reader": {KeyScope.READ},
    "labeller": {KeyScope.READ, KeyScope.LABEL},
    "sender": {KeyScope.INGEST},
}
"""What keys of the project acme allow; of the others none holds."""
UNKNOWN = cycle(("expired", "wrong", ""))
"""Nobody; each request is made as one of them, by turns."""
EXAMPLES = sized(2, 60)


def expected(kind: str, method: str, path: str) -> int:
    """The status of a refusal for want of a key or a scope, 0 where there is none (docs/keys.md)."""
    if is_open(path):
        return 0
    if kind not in SCOPES:
        return 401
    if path == "/api/backups":  # of the whole store: these keys are of one project
        return 403
    return 0 if needed_scope(method, path) in SCOPES[kind] else 403


@pytest.mark.filterwarnings("ignore")
async def test_the_api_keeps_to_its_document_for_every_kind_of_key(world: Projects) -> None:
    """No 5xx, every answer as documented, refusals where they belong, and never a word of another project."""
    document = (await world.get("/openapi.json", world.acme)).json()
    url = str(world.http.base_url)
    failures = await asyncio.to_thread(tried, world, document, url)
    assert failures == [], "\n".join(failures[:20])


def tried(world: Projects, document: dict[str, Any], url: str) -> list[str]:
    """What is wrong, a line each."""
    schema = schemathesis.openapi.from_dict(document)
    failures: list[str] = []
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        for result in schema.get_all_operations():
            operation = result.ok()

            @seed(1)
            @settings(
                max_examples=EXAMPLES, database=None, deadline=None, phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=operation.as_strategy())
            def check(case: Any) -> None:
                for kind in (*SCOPES, next(UNKNOWN)):
                    failures.extend(problems(world, http, case, kind))

            check()
    return failures


def problems(world: Projects, http: httpx.Client, case: Any, kind: str) -> list[str]:
    """What is wrong with the answer to one request."""
    sent = case.as_transport_kwargs(base_url=str(http.base_url))
    headers = {**(sent.get("headers") or {}), **(world.auth(kind) if kind else {})}
    body = {name: sent[name] for name in ("json", "data") if sent.get(name) is not None}
    if "data" in body and not isinstance(body["data"], dict):
        body = {"content": body["data"]}
    answer = http.request(case.method, sent["url"], params=sent.get("params"), headers=headers, **body)
    path = httpx.URL(sent["url"]).path
    what = f"{case.method} {sent['url']} {sent.get('params')} {body} as {kind or 'nobody'}: {answer.status_code}"
    wanted = expected(kind, case.method, path)
    if (wanted and answer.status_code not in {wanted, 503}) or (not wanted and answer.status_code in {401, 403}):
        return [f"{what}, not {wanted or 'let in'}"]
    if answer.status_code >= 500 and (answer.status_code != 503 or "retry-after" not in answer.headers):
        return [f"{what}: {answer.text[:200]}"]
    asked = f"{what}"
    words = [word for one in (world.globex, world.base) for word in one.words]
    told = [word for word in words if word in f"{dict(answer.headers)} {answer.text}" and word not in asked]
    if told:
        return [f"{what} tells {told}"]
    if wanted or answer.status_code == 503 or "html" in answer.headers.get("content-type", ""):
        return []
    try:
        case.operation.validate_response(answer)
    except Exception as error:  # noqa: BLE001  schemathesis raises groups of its own
        return [f"{what}: {str(error)[:600]} {json.dumps(answer.text[:300])}"]
    return []
