"""Whether another program is in our consumer group: it would take messages that then are stored nowhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any, Final

from .client import CLIENT_ID, Options, library, make, told
from .config import KafkaConfig

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 60.0
ASK_SECONDS: Final = 5.0


class GroupWatch:
    """Asks the brokers for the members of the group, now and then. `strangers`: a line for each that is not ours."""

    def __init__(self, config: KafkaConfig, options: Options) -> None:
        self.strangers: Sequence[str] = ()
        self._group, self._options = config.group, options
        self._next = 0.0

    def look(self) -> None:
        """Look, if it is time to; where the group may not be described nothing is known."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_SECONDS
        options = {key: value for key, value in self._options.items() if key != "logger"}
        admin = make("AdminClient", options | {"log_level": 0})
        try:
            asked: dict[str, Any] = admin.describe_consumer_groups([self._group], request_timeout=ASK_SECONDS)
            members = asked[self._group].result(ASK_SECONDS + 1).members
        except (library().KafkaException, TimeoutError) as error:
            log.debug("the group %s cannot be described: %s", self._group, told(error))
            return
        others = {(m.client_id, m.host) for m in members if m.client_id != self._options[CLIENT_ID]}
        found = tuple(
            f"{client_id} at {host.lstrip('/')} is in the consumer group {self._group}, too, and takes messages from "
            "us: give one of both another group"
            for client_id, host in sorted(others)
        )
        for line in set(found) - set(self.strangers):
            log.error("Kafka: %s", line)
        self.strangers = found
