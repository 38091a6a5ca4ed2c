"""Commands that can be stopped: Ctrl-C where a shell has it ignored, and what they say."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from tracejury.schemas.errors import OverBudgetError, RetryableError

from .failures import Failure

T = TypeVar("T")

_AGAIN: Final = "; the same command with its --cassette goes on from here"


def heed_ctrl_c() -> None:
    """Have SIGINT raise KeyboardInterrupt: a shell's background job inherits it as ignored, and Python leaves it so."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def run_resumable(work: Coroutine[Any, Any, T]) -> T:
    """The result of calls of a model that are on a cassette.

    Raises:
        Failure: Ctrl-C, a budget or the model ended it; says how to go on.
    """
    heed_ctrl_c()
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        raise Failure(f"stopped{_AGAIN}") from None
    except (OverBudgetError, RetryableError) as error:
        raise Failure(f"{error}{_AGAIN}") from None
