"""Chat: a JSON message posted to a URL that is itself the secret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tracejury.schemas.alerts import Alert
from tracejury.schemas.text.jsontext import bytes_of

from .http_channel import ChannelRequest
from .texts import JsonObject


@dataclass(frozen=True, slots=True)
class ChatForm:
    """Of a service whose messages `alert` and `alerts` make. See `ChannelForm`."""

    url: str = field(repr=False)
    alert: Callable[[Alert], JsonObject]
    alerts: Callable[[Sequence[Alert]], JsonObject]

    def message(self, alert: Alert) -> ChannelRequest:
        """See `ChannelForm`."""
        return ChannelRequest(self.url, bytes_of(self.alert(alert)))

    def digest(self, alerts: Sequence[Alert]) -> ChannelRequest:
        """See `ChannelForm`."""
        return ChannelRequest(self.url, bytes_of(self.alerts(alerts)))
