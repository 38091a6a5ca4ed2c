"""Channels that are reached over HTTP: one POST a message, its answer told as what the caller should do."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from tracejury.collector.outbound.webhooks.posting import DeliveryError, Poster
from tracejury.collector.worker.retry import retry_after
from tracejury.schemas.alerts import Alert
from tracejury.schemas.errors import PermanentError, RetryableError, TracejuryError

from .config import ChannelConfig
from .failing import failed, place_of

LONGEST_ASKED: Final = 3_600.0
"""Seconds that a service may ask us to wait, at most."""
GOOD, REDIRECTS = range(200, 300), range(300, 400)
PASSING: Final = frozenset({408, 425, 429, *range(500, 600)})
TOO_LARGE: Final = 413
_MEANS: Final[Mapping[int, str]] = {
    400: "it refuses the message, or {credential} is wrong: check it",
    401: "it does not accept {credential}: make a new one",
    403: "it does not accept {credential}, or does not allow it to send there: make a new one",
    404: "it does not know {credential} (any longer): make a new one",
    410: "{credential} is gone: make a new one",
    TOO_LARGE: "the message is too large for it",
    422: "it refuses the message, or {credential} is wrong: check it",
}


@dataclass(frozen=True, slots=True)
class ChannelRequest:
    """A POST of JSON; all of it may be secret."""

    url: str = field(repr=False)
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class ChannelForm(Protocol):
    """What a service takes."""

    def message(self, alert: Alert) -> ChannelRequest:
        """The request that tells of one alert."""
        ...

    def digest(self, alerts: Sequence[Alert]) -> ChannelRequest:
        """The request that tells of several. Raises PermanentError: a pager gets none."""
        ...


class PagerForm:
    """The half of a `ChannelForm` that pagers share."""

    __slots__ = ()

    def digest(self, alerts: Sequence[Alert]) -> ChannelRequest:
        """See `ChannelForm`."""
        raise PermanentError(f"a pager gets no digest, which it could not resolve: send its {len(alerts)} one by one")


class HttpChannel:
    """See `Channel`. The address is checked as that of webhooks; redirects are not followed, no proxy is used.

    A connection of its own for each message: there are few, and none is held between them.
    """

    def __init__(
        self,
        config: ChannelConfig,
        form: ChannelForm,
        tls: ssl.SSLContext,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock`: unix seconds."""
        self._config, self._form, self._tls, self._clock = config, form, tls, clock

    async def send(self, alert: Alert) -> None:
        """See `Channel`."""
        await self._post(await asyncio.to_thread(self._form.message, alert))

    async def send_digest(self, alerts: Sequence[Alert]) -> None:
        """See `Channel`."""
        await self._post(await asyncio.to_thread(self._form.digest, alerts))

    async def _post(self, request: ChannelRequest) -> None:
        config = self._config
        patience, anywhere = config.timeout_seconds, config.allow_link_local
        poster = Poster(request.url, timeout=patience, connections=1, any_address=anywhere, tls=self._tls)
        try:
            async with poster:
                answer = await poster.post(request.headers, request.body)
        except DeliveryError as error:
            raise failed(config, error.reason) from None
        if answer.status not in GOOD:
            asked = retry_after(answer.retry_after, self._clock(), LONGEST_ASKED)
            raise self._refused(answer.status, asked)

    def _refused(self, status: int, asked: float | None) -> TracejuryError:
        told = f"{place_of(self._config)}: HTTP {status}"
        if status in PASSING:
            waits = f", which asks for {asked:g} s of patience" if asked else ""
            return RetryableError(f"{told}{waits}: the service is busy or down", retry_after=asked or 1.0)
        if status in REDIRECTS:
            return PermanentError(f"{told}: redirects are not followed: name the address that it leads to")
        credential = self._config.secret or self._config.url
        why = _MEANS.get(status, "it refuses the message").format(credential=credential)
        return PermanentError(f"{told}: {why}")
