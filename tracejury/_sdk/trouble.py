"""Failures of the SDK in an agent's process: logged once each, never raised."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_LOG: Final = logging.getLogger("tracejury.sdk")
_logged: set[str] = set()


def log_once(what: str, error: BaseException | None = None) -> None:
    """Log a failure the first time that it happens."""
    if what not in _logged:
        _logged.add(what)
        _LOG.warning("%s; this is said once, the program goes on", what, exc_info=error)


def harmless(fallback: T) -> Callable[[Callable[P, Any]], Callable[P, T]]:
    """A hook of the SDK that never raises into the agent: it gives `fallback` instead."""

    def wrap(hook: Callable[P, Any]) -> Callable[P, T]:
        @functools.wraps(hook)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                result: T = hook(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - the agent must not fail for its observer, whatever happens
                log_once(f"{hook.__qualname__} failed", error)
                return fallback
            return result

        return guarded

    return wrap
