"""Channels, built from the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.collector.outbound.webhooks.endpoint import is_https, tls_for, url_of

from .channel import Channel
from .chat import ChatForm
from .config import KEYS, ChannelConfig, ChannelKind
from .http_channel import ChannelForm, HttpChannel
from .slack import slack_digest, slack_message

_CHATS: Final = {
    ChannelKind.SLACK: (slack_message, slack_digest),
}


def build_channels(configs: Sequence[ChannelConfig], environ: Mapping[str, str] = os.environ) -> Mapping[str, Channel]:
    """All channels of the configuration by name. Nothing is sent, and no connection is held.

    Raises:
        ConfigError: a variable is missing, or holds no secret or URL; a file holds no certificates.
    """
    forms = {config.name: form_of(config, environ) for config in configs}
    tls = tls_for("channel", ((config, is_https(_url(config, environ))) for config in configs))
    return {config.name: HttpChannel(config, forms[config.name], tls[config.name]) for config in configs}


def check_channels(configs: Sequence[ChannelConfig], environ: Mapping[str, str] = os.environ) -> None:
    """Check all that `build_channels` would refuse.

    Raises:
        ConfigError: see `build_channels`.
    """
    build_channels(configs, environ)


def form_of(config: ChannelConfig, environ: Mapping[str, str]) -> ChannelForm:
    """What a channel's service takes, with its URL and secret.

    Raises:
        ConfigError: a variable is missing, or holds no secret or URL.
    """
    url = _url(config, environ)
    if chat := _CHATS.get(config.kind):
        return ChatForm(url, *chat)
    raise NotImplementedError


def _url(config: ChannelConfig, environ: Mapping[str, str]) -> str:
    return url_of("channel", config, environ) if config.url else KEYS[config.kind].default
