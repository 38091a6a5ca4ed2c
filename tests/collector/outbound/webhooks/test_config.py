"""What a configuration file may say of webhooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hook_server import SECRET

from tracejury.collector.config import load_config
from tracejury.collector.outbound.webhooks.build import check_webhooks, spec_of
from tracejury.collector.outbound.webhooks.config import WebhookConfig
from tracejury.collector.outbound.webhooks.endpoint import url_of
from tracejury.schemas.errors import ConfigError

GOOD = {"name": "ops", "url": "http://127.0.0.1:9/hook", "secret": "${HOOK_SECRET}"}
TOKEN = "https://example.com/hooks/T0KEN"


def problem(*webhooks: dict[str, Any]) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(ConfigError) as caught:
        load_config(None, {"webhooks": list(webhooks)})
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"secret": "whsec_c2VjcmV0"}, "webhooks.0.secret"),
        ({"old_secret": "whsec_c2VjcmV0"}, "webhooks.0.old_secret"),
        ({"secret": ""}, "webhooks.0.secret"),
        ({"url": "ftp://x/"}, "webhooks.0.url"),
        ({"name": "Ops Team"}, "webhooks.0.name"),
        ({"profile": "lax"}, "webhooks.0.profile"),
        ({"states": []}, "webhooks.0.states"),
        ({"states": ["retracted"]}, "webhooks.0.states.0"),
        ({"severity": "high"}, "webhooks.0.severity"),
        ({"headers": {}}, "webhooks.0.headers"),
    ],
)
def test_what_is_refused(change: dict[str, Any], place: str) -> None:
    """One line with its place; what may be a secret is not repeated."""
    line = problem({**GOOD, **change})
    assert line.startswith(f"{place}: ")
    assert "c2VjcmV0" not in line


def test_two_of_one_name_are_refused() -> None:
    """Marks in the store are kept by it."""
    assert problem(GOOD, GOOD) == "webhooks: two are called ops"


def test_secret_and_url_may_stand_in_the_environment() -> None:
    """Both keys sign, the newest first; neither is shown where the terms are printed."""
    config = WebhookConfig.model_validate({**GOOD, "url": "${HOOK_URL}", "old_secret": "${OLD}"})
    old = SECRET[:-4] + "AAA="
    environ = {"HOOK_SECRET": SECRET, "OLD": old, "HOOK_URL": TOKEN}
    terms = spec_of(config, environ)("http://pages")
    assert len(set(terms.keys)) == 2
    assert "keys" not in repr(terms)
    assert url_of("webhook", config, environ) == TOKEN


@pytest.mark.parametrize("environ", [{}, {"HOOK_SECRET": "  "}, {"HOOK_SECRET": "hunter2"}])
def test_a_variable_that_holds_no_secret_is_named(environ: dict[str, str]) -> None:
    """The name, not the value."""
    with pytest.raises(ConfigError) as caught:
        spec_of(WebhookConfig.model_validate(GOOD), environ)
    assert "webhook ops: ${HOOK_SECRET}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_variable_that_holds_no_url_is_named() -> None:
    """The name, not the value."""
    config = WebhookConfig.model_validate({**GOOD, "url": "${HOOK_URL}"})
    with pytest.raises(ConfigError, match=r"webhook ops: \$\{HOOK_URL\}: an http"):
        url_of("webhook", config, {"HOOK_URL": "gopher://T0KEN"})


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_told_at_the_start(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, as of a missing secret; only where something is sent over TLS."""
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    plain, secure = (WebhookConfig.model_validate({**GOOD, "url": url}) for url in (GOOD["url"], TOKEN))
    check_webhooks([plain])
    with pytest.raises(ConfigError, match=r"^webhooks: no certificates in SSL_CERT_FILE: [^\n]+$"):
        check_webhooks([plain, secure])
