"""Readiness for probes without a key."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import pytest
from served_api import Api
from starlette.types import Receive, Scope, Send

from tracejury.collector.api.access import KEY
from tracejury.collector.api.app import create_app
from tracejury.collector.api.services import Services
from tracejury.collector.auth.key import EVERYBODY, KeyScope, new_key
from tracejury.collector.auth.key_file import VARIABLE, keys_text
from tracejury.collector.auth.keyring import Keyring

SECRET = "the folder /srv/acme is gone"


async def ready(
    api: Api, problems: Sequence[str], losses: Sequence[str], *, asks: bool, known: bool
) -> tuple[int, dict[str, object]]:
    key, _ = new_key("n", "", [KeyScope.READ], 1)
    services = Services(
        api.reader, lambda _ids, _hand: (), lambda: problems, bytes,
        losses=lambda: losses, any_host=True, keyring=Keyring(environment={VARIABLE: keys_text([key])} if asks else {}),
    )  # fmt: skip
    app = create_app(services)

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, KEY: EVERYBODY} if known else scope, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(called), base_url="http://probe") as client:
        answer = await client.get("/readyz")
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("asks", "known", "told"), [(False, False, True), (True, True, True), (True, False, False)], ids=str
)
async def test_a_stranger_is_told_the_status_alone(api: Api, *, asks: bool, known: bool, told: bool) -> None:
    """Probes need no key; why the collector is not ready, or what it lost, is told to those who have one."""
    assert await ready(api, (), (), asks=asks, known=known) == (200, {"status": "ready"})
    code, said = await ready(api, (SECRET,), (), asks=asks, known=known)
    assert (code, SECRET in str(said)) == (503, told)
    code, said = await ready(api, (), (SECRET,), asks=asks, known=known)
    assert (code, said["status"], SECRET in str(said)) == (200, "degraded", told)
