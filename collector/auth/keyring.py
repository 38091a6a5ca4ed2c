"""The keys that hold now: read again when their file changes, checked at every request."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from cachetools import TTLCache

from tracejury.collector.worker.log_throttle import LogThrottle
from tracejury.schemas.errors import ConfigError, ForbiddenError, OverloadedError, UnauthorizedError

from .key import EVERYBODY, NOBODY, AccessKey, KeyScope, id_of, opens
from .key_file import VARIABLE, parse_keys, read_keys

log = logging.getLogger(__name__)

SECOND: Final = 1_000_000_000
LOOK_EVERY: Final = SECOND
"""How often, in nanoseconds, the file is looked at."""

MOST_FAILURES: Final = 30
"""Wrong keys of one address in a minute; beyond them it is told to wait, and nothing more is logged."""
MINUTE: Final = 60.0
MOST_ADDRESSES: Final = 10_000

MISSING: Final = "this collector asks for a key: send it as `authorization: Bearer KEY` or `x-api-key: KEY`"
WRONG: Final = "this key is not known here, or it has expired or was revoked"


class Keyring:
    """The keys of a file and of the environment; for one thread.

    Without any key nobody is asked for one (`asks` is false), unless it is `closed`. Once it has seen one, it asks
    until the process ends, also when the file is emptied or removed. `clock`: unix nanos; `timer`: seconds.
    """

    def __init__(
        self,
        path: Path | None = None,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], float] = time.monotonic,
        *,
        closed: bool = False,
    ) -> None:
        """Read the keys. `closed`: ask for one also while there is none.

        Raises:
            ConfigError: they cannot be read.
        """
        self.path, self._clock = path, clock
        given = environment.get(VARIABLE, "")
        self._given = parse_keys(given, f"the environment variable {VARIABLE}") if given else ()
        self._seen, self._next = self._stamp(), clock() + LOOK_EVERY
        self._keys = self._read()
        self.asks = closed or bool(self._keys)
        self._throttle = LogThrottle(clock)
        self._failures: TTLCache[str, int] = TTLCache(MOST_ADDRESSES, MINUTE, timer)

    @property
    def projects(self) -> frozenset[str]:
        """The projects that a key belongs to, and the default one."""
        return frozenset({"", *(key.project for key in self._keys.values())})

    def check(self, token: str, scope: KeyScope, client: str) -> AccessKey:
        """The key of a token that allows `scope`; "" for none was sent. `client`: the address that it came from.

        Raises:
            UnauthorizedError: no key, or none that holds.
            ForbiddenError: the key does not allow it.
            OverloadedError: too many wrong keys came from there.
        """
        key = self.valid(token)
        if key is None:
            if token:
                self._failed(token, client)
            raise UnauthorizedError(WRONG if token else MISSING)
        if not key.allows(scope):
            raise ForbiddenError(f"the key {key.id} may not do this: it needs the scope {scope}")
        return key

    def valid(self, token: str) -> AccessKey | None:
        """The key of a token where it holds; whoever asks where nobody has to show one."""
        self._look()
        if not self.asks:
            return EVERYBODY
        key = self._keys.get(id_of(token), NOBODY)
        return key if opens(token, key) and key.is_valid(self._clock()) else None

    def holds(self, key_id: str) -> AccessKey | None:
        """The key of that id, where it holds."""
        self._look()
        key = self._keys.get(key_id)
        return key if key is not None and key.is_valid(self._clock()) else None

    def _failed(self, token: str, client: str) -> None:
        count = self._failures[client] = self._failures.get(client, 0) + 1
        if count > MOST_FAILURES:
            raise OverloadedError("too many wrong keys came from this address: wait a minute", retry_after=MINUTE)
        if self._throttle.due("a wrong key"):
            known = self._keys.get(id_of(token))
            named = f"has the id {known.id}, but is wrong or has expired" if known else "is unknown"
            log.warning("refused a request from %s: its key %s", client or "an unknown address", named)

    def _look(self) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + LOOK_EVERY
        stamp = self._stamp()
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._keys = self._read()
        except ConfigError as error:
            log.warning("the keys stay as they were: %s", error)
            return
        self.asks = self.asks or bool(self._keys)
        log.info("read the keys again: %d", len(self._keys))

    def _read(self) -> Mapping[str, AccessKey]:
        keys = (*self._given, *(read_keys(self.path) if self.path else ()))
        return {key.id: key for key in keys}

    def _stamp(self) -> tuple[int, int, int]:
        """What changes with the file; zeros where there is none."""
        try:
            seen = self.path.stat() if self.path else None
        except OSError:
            seen = None
        return (seen.st_mtime_ns, seen.st_size, seen.st_ino) if seen else (0, 0, 0)
