"""A channel: what sends alerts, whatever the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracejury.schemas.alerts import Alert
from tracejury.schemas.errors import PermanentError


class PartlySentError(PermanentError):
    """Some receivers took the message and some refused it: sent again, it would reach the former twice."""


class Channel(Protocol):
    """Sends once and remembers nothing; who calls it stores, queues and tries again.

    Texts of alerts may be hostile: none can mention anybody, make a link or markup, or name another receiver. What is
    longer than the service takes is cut, with "…". Errors name the channel and never its URL or secret.
    """

    async def send(self, alert: Alert) -> None:
        """Tell of one alert; pagers open its incident, or close it once it is resolved.

        Raises:
            RetryableError: another try may mend it; `retry_after` is what the service asked for, at most an hour.
            PermanentError: it may not; the text says how to fix it.
        """
        ...

    async def send_digest(self, alerts: Sequence[Alert]) -> None:
        """Tell of several alerts in one message, in their order.

        Raises:
            RetryableError: see `send`.
            PermanentError: see `send`; or the channel is a pager (`ChannelKind.is_pager`), which gets no digest.
        """
        ...
