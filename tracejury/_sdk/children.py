"""The flush at the end of `multiprocessing` children, which do not run exit handlers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

EXIT_FLUSH: Final = 5.0
"""Seconds that a process waits, at its exit, for its last spans."""


def flush_at_end_of_child(flush: Callable[[float], object]) -> None:
    """Where this is a child of `multiprocessing`, flush when it ends. Call it in the child, once it is at work."""
    processes, util = (sys.modules.get(f"multiprocessing{part}") for part in (".process", ".util"))
    if processes is not None and util is not None and processes.parent_process() is not None:
        util.Finalize(None, flush, args=(EXIT_FLUSH,), exitpriority=0)
