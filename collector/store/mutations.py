"""Deletions in the embedded engine, which carries them out part by part."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

EVERY_SECONDS: Final = 0.02


@contextmanager
def hurried(run: Callable[[str], object], table: str) -> Iterator[None]:
    """Around a statement that changes rows of `table`: have the engine go on with the next part at once.

    Between two parts it may wait until it looks for work again, for seconds (see `embedded`): DELETE took 17 s where
    fifteen parts waited for a merge. `run` executes a statement; what it raises is ignored.
    """
    ended = threading.Event()

    def nudge() -> None:
        while not ended.wait(EVERY_SECONDS):
            run(f"SYSTEM START MERGES `{table}`")

    with ThreadPoolExecutor(1, "mutations") as beside:
        beside.submit(nudge)
        try:
            yield
        finally:
            ended.set()
