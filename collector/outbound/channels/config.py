"""The configuration section `channels`: where people are told of alerts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tracejury.collector.outbound.webhooks.config import EndpointConfig, Name, Variable, an_url, distinct
from tracejury.schemas.config_base import VARIABLE, Section

_ADDRESS: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")


class ChannelKind(StrEnum):
    """The services that a channel speaks to."""

    SLACK = "slack"
    TEAMS = "teams"
    DISCORD = "discord"
    PAGERDUTY = "pagerduty"
    OPSGENIE = "opsgenie"
    EMAIL = "email"
    WEBHOOK = "webhook"

    @property
    def is_pager(self) -> bool:
        """Whether it opens and closes incidents, each by an alert of its own: it gets no digest."""
        return self in {ChannelKind.PAGERDUTY, ChannelKind.OPSGENIE}


@dataclass(frozen=True, slots=True)
class KindKeys:
    """What a kind is told. `default`: its URL where none is named; `is_url_secret`: its URL holds a token."""

    needed: frozenset[str]
    allowed: frozenset[str] = frozenset()
    default: str = ""
    is_url_secret: bool = False


_CHAT: Final = KindKeys(frozenset({"url"}), is_url_secret=True)
KEYS: Final = {
    ChannelKind.SLACK: _CHAT,
    ChannelKind.TEAMS: _CHAT,
    ChannelKind.DISCORD: _CHAT,
    ChannelKind.PAGERDUTY: KindKeys(
        frozenset({"secret"}), frozenset({"url"}), "https://events.pagerduty.com/v2/enqueue"
    ),
    ChannelKind.OPSGENIE: KindKeys(frozenset({"secret"}), frozenset({"url"}), "https://api.opsgenie.com"),
    ChannelKind.EMAIL: KindKeys(frozenset({"mail"}), frozenset({"secret"})),
    ChannelKind.WEBHOOK: KindKeys(frozenset({"url", "secret"})),
}


def an_address(value: str) -> str:
    """A bare mail address in ASCII.

    Raises:
        ValueError: anything else.
    """
    if not _ADDRESS.fullmatch(value):
        raise ValueError("a mail address such as ops@example.com is expected, without a name")
    return value


MailAddress = Annotated[str, AfterValidator(an_address)]


class MailConfig(Section):
    """How mail is sent, and to whom."""

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:-]{1,255}$")]
    """The SMTP server."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    """Its port: usually 587 with starttls, 465 with tls, 25 with none."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """starttls: encrypted after a greeting, or not sent; tls: encrypted from the start; none: in the clear."""
    user: str = ""
    """Name to log in with; the channel's `secret` names the variable with the password. "": without."""
    sender: MailAddress
    """Address that it is sent from."""
    to: Annotated[tuple[MailAddress, ...], Field(min_length=1, max_length=50)]
    """One to 50 addresses that it is sent to; each sees the others."""


class ChannelConfig(EndpointConfig):
    """A place where people are told of alerts (docs/chat.md)."""

    name: Name
    """A name of your own: rules of alerts, metrics and log lines name the channel by it."""
    kind: ChannelKind
    """slack, teams, discord, pagerduty, opsgenie, email or webhook."""
    url: Annotated[str, AfterValidator(lambda value: value and an_url(value))] = ""
    """`${NAME}`: the variable with the URL that slack, teams or discord gave you. Of a webhook, and of pagerduty and
    opsgenie in another region, the URL itself may stand here; "" is theirs in the USA."""
    secret: Variable = ""
    """`${NAME}`: the variable with pagerduty's routing key, opsgenie's API key, the password of email, or a webhook's
    signing secret."""
    mail: MailConfig | None = None
    """Of email."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        keys = KEYS[self.kind]
        given = {name for name in ("url", "secret", "mail") if getattr(self, name)}
        for name in sorted(keys.needed - given):
            raise ValueError(f"a channel of kind {self.kind} needs the key {name}")
        for name in sorted(given - keys.needed - keys.allowed):
            raise ValueError(f"a channel of kind {self.kind} has no key {name}")
        if keys.is_url_secret and not VARIABLE.fullmatch(self.url):
            raise ValueError(f"the URL of a channel of kind {self.kind} is a secret: write ${{NAME}}")
        if self.mail is not None and bool(self.mail.user) is not bool(self.secret):
            raise ValueError("mail.user and secret, the variable with its password, belong together")
        if self.mail is not None and self.secret and self.mail.security == "none":
            raise ValueError("a password is not sent in the clear: set mail.security to starttls or tls")
        return self


ChannelConfigs = Annotated[tuple[ChannelConfig, ...], AfterValidator(distinct)]
