"""Channels, built from the configuration."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.collector.outbound.webhooks.endpoint import is_https, tls_for, url_of, value_of
from tracejury.collector.outbound.webhooks.signing import key_of
from tracejury.schemas.errors import ConfigError

from .channel import Channel
from .chat import ChatForm
from .config import KEYS, ChannelConfig, ChannelKind
from .discord import discord_digest, discord_message
from .http_channel import ChannelForm, HttpChannel
from .mail_channel import MailChannel
from .opsgenie import OpsgenieForm
from .pagerduty import PagerDutyForm
from .signed_json import SignedForm
from .slack import slack_digest, slack_message
from .teams import teams_digest, teams_message

_CHATS: Final = {
    ChannelKind.SLACK: (slack_message, slack_digest),
    ChannelKind.TEAMS: (teams_message, teams_digest),
    ChannelKind.DISCORD: (discord_message, discord_digest),
}


def build_channels(configs: Sequence[ChannelConfig], environ: Mapping[str, str] = os.environ) -> Mapping[str, Channel]:
    """All channels of the configuration by name. Nothing is sent, and no connection is held.

    Raises:
        ConfigError: a variable is missing, or holds no secret or URL; a file holds no certificates.
    """
    urls = {config.name: _url(config, environ) for config in configs}
    tls = tls_for("channel", ((config, _is_secure(config, urls[config.name])) for config in configs))
    return {config.name: _built(config, urls[config.name], tls[config.name], environ) for config in configs}


def _built(config: ChannelConfig, url: str, tls: ssl.SSLContext, environ: Mapping[str, str]) -> Channel:
    secret = _secret(config, environ) if config.secret else ""
    if config.mail is not None:
        return MailChannel(config, config.mail, secret, tls)
    return HttpChannel(config, _form(config, url, secret), tls)


def _form(config: ChannelConfig, url: str, secret: str) -> ChannelForm:
    match config.kind:
        case ChannelKind.PAGERDUTY:
            return PagerDutyForm(url, secret)
        case ChannelKind.OPSGENIE:
            return OpsgenieForm(url, secret)
        case ChannelKind.WEBHOOK:
            return SignedForm(config.name, url, key_of(secret))
        case kind:
            return ChatForm(url, *_CHATS[kind])


def _url(config: ChannelConfig, environ: Mapping[str, str]) -> str:
    return url_of("channel", config, environ) if config.url else KEYS[config.kind].default


def _is_secure(config: ChannelConfig, url: str) -> bool:
    return config.mail.security != "none" if config.mail is not None else is_https(url)


def _secret(config: ChannelConfig, environ: Mapping[str, str]) -> str:
    """A channel's secret. Raises ConfigError: it is not set, or of another form; the text does not repeat it."""
    try:
        secret = value_of(config.secret, environ)
        if config.kind is ChannelKind.WEBHOOK:
            key_of(secret)
    except ConfigError as error:
        raise ConfigError(f"channel {config.name}: {config.secret}: {error}") from None
    if not secret.isascii() or not secret.isprintable():
        raise ConfigError(f"channel {config.name}: {config.secret}: a secret is printable ASCII, on one line")
    return secret
