"""Alerts for tests of channels."""

from __future__ import annotations

from typing import Any

from tracejury.collector.outbound.channels.build import build_channels
from tracejury.collector.outbound.channels.channel import Channel
from tracejury.collector.outbound.channels.config import ChannelConfig
from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.taxonomy import Severity

FIRED_AT = 1_795_000_000_123_456_789
SAMPLE = Alert(
    id="alert-1",
    project="",
    rule="error-rate",
    key="checkout",
    state=AlertState.FIRING,
    severity=Severity.HIGH,
    title="checkout: 31 % of runs have an error",
    text="The last hour's interval is 24 to 38 %.\nThe day before it was 4 %.",
    facts=(("service", "checkout"), ("rate", "31 %")),
    link="https://tracejury.example/services/checkout?window=1h&of=errors",
    at=FIRED_AT,
)


def an_alert(**changes: Any) -> Alert:
    """`SAMPLE` with other fields."""
    fields = {name: getattr(SAMPLE, name) for name in Alert.__slots__}
    return Alert(**{**fields, **changes})


RESOLVED = an_alert(id="alert-2", state=AlertState.RESOLVED, title="checkout: 3 % of runs have an error")


def a_channel(kind: str, url: str = "", secret: str = "", **settings: Any) -> Channel:
    """A channel called team; URL and secret stand in variables."""
    named = {key: f"${{{key.upper()}}}" for key, value in (("url", url), ("secret", secret)) if value}
    config = ChannelConfig.model_validate({"name": "team", "kind": kind, **named, **settings})
    return build_channels([config], {"URL": url, "SECRET": secret})["team"]
