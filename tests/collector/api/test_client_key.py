"""The key that the client of the API sends, and what it says where the collector refuses it."""

from __future__ import annotations

import httpx
import pytest

from tracejury.collector.api.client import ApiClient
from tracejury.schemas.errors import ConfigError


def sent(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str | None:
    for name in ("TRACEJURY_KEY", "TRACEJURY_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"items": [], "next": None})

    with ApiClient("http://collector.example:8321", transport=httpx.MockTransport(answer)) as client:
        client.sessions({}, 1)
    return str(seen[0].headers["authorization"]) if "authorization" in seen[0].headers else None


def test_the_key_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the project that is asked for, whatever characters its name has; without a key none is sent."""
    assert sent(monkeypatch) is None
    assert sent(monkeypatch, TRACEJURY_KEY=" k ") == "Bearer k"
    own = {"TRACEJURY_KEY": "k", "TRACEJURY_PROJECT": "a.b-c", "TRACEJURY_KEY_A_B_C": "own"}
    assert sent(monkeypatch, **own) == "Bearer own"


def test_a_project_without_a_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="set TRACEJURY_KEY_SHOP"):
        sent(monkeypatch, TRACEJURY_KEY="k", TRACEJURY_PROJECT="shop")


@pytest.mark.parametrize("key", ["ключ", "a\nb", "a\x1b"])
def test_what_is_no_key_is_told(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """Instead of sent: it would be another header, or none that can be sent."""
    with pytest.raises(ConfigError, match="what TRACEJURY_KEY holds is no key"):
        sent(monkeypatch, TRACEJURY_KEY=key)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_one_line_that_says_what_to_set(status: int) -> None:
    answer = httpx.Response(status, json={"detail": "this collector asks for a key"})
    told = r"asks for a key \(the command line takes its key from TRACEJURY_KEY\)"
    transport = httpx.MockTransport(lambda _: answer)
    with ApiClient("http://127.0.0.1:1", transport=transport) as client, pytest.raises(ConfigError, match=told):
        client.sessions({}, 1)
