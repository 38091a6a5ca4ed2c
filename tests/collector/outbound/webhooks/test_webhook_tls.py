"""Webhooks to a receiver with a certificate of one's own authority."""

from __future__ import annotations

from pathlib import Path

import pytest
from hook_server import hook_server
from papers import Papers

from tracejury.collector.outbound.webhooks.build import check_webhooks
from tracejury.collector.outbound.webhooks.config import WebhookConfig
from tracejury.collector.outbound.webhooks.endpoint import tls_for
from tracejury.collector.outbound.webhooks.posting import DeliveryError, Poster
from tracejury.schemas.errors import ConfigError

SECRETS = {"SECRET": "whsec_" + "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"}


def webhook(url: str, **files: str) -> WebhookConfig:
    """One with these files."""
    return WebhookConfig.model_validate({"name": "team", "url": url, "secret": "${SECRET}", **files})


async def post(config: WebhookConfig) -> int:
    """The status of one request."""
    tls = tls_for("webhook", [(config, True)])[config.name]
    async with Poster(config.url, timeout=30, connections=1, any_address=False, tls=tls) as poster:
        return (await poster.post({}, b"{}")).status


async def test_a_receiver_of_ones_own_authority_is_trusted_and_told_who_we_are(tmp_path: Path) -> None:
    """It asks for a certificate, too."""
    papers = Papers(tmp_path)
    client = papers.issue("client")
    with hook_server(tls=papers.server(papers.issue(), asks=True)) as server:
        mine = {"cert_file": str(client.cert), "key_file": str(client.key)}
        assert await post(webhook(server.url, ca_file=str(papers.ca), **mine)) == 204
        with pytest.raises(DeliveryError, match="tls"):
            await post(webhook(server.url, **mine))
        with pytest.raises(DeliveryError):
            await post(webhook(server.url, ca_file=str(papers.ca)))
        assert len(server.received) == 1


def test_a_file_that_cannot_be_used_is_named_with_webhook_and_setting(tmp_path: Path) -> None:
    """Also by `tracejury validate`."""
    pair = Papers(tmp_path).issue()
    with pytest.raises(ConfigError, match=r"webhook team: ca_file: /nowhere/ca\.pem cannot be read"):
        check_webhooks([webhook("https://h/", ca_file="/nowhere/ca.pem")], SECRETS)
    with pytest.raises(ConfigError, match="webhook team: cert_file and webhook team: key_file belong together"):
        check_webhooks([webhook("https://h/", cert_file=str(pair.cert))], SECRETS)
