"""Commands that can be stopped: Ctrl-C where a shell has it ignored, and what they say."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

from tracejury.schemas.errors import OverBudgetError, RetryableError

from .failures import Failure, Interrupted

T = TypeVar("T")

_GOES_ON: Final = "the same command with its --cassette goes on from here"
_FROM_START: Final = "the same command begins anew; with a --cassette FILE it would have gone on from here"


def heed_ctrl_c() -> None:
    """Have SIGINT raise KeyboardInterrupt: a shell's background job inherits it as ignored, and Python leaves it so."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def going_on(cassette: Path | None) -> str:
    """Tells how a command goes on where it was stopped that has no cassette of its own."""
    return _GOES_ON if cassette else _FROM_START


def run_resumable(work: Coroutine[Any, Any, T], again: str) -> T:
    """The result of calls of a model that may be on a cassette. `again`: tells how to go on where it was stopped.

    Raises:
        Interrupted: Ctrl-C ended it. Failure: a budget or the model did. Both say how to go on.
    """
    heed_ctrl_c()
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; {again}") from None
    except (OverBudgetError, RetryableError) as error:
        raise Failure(f"{error}; {again}") from None
