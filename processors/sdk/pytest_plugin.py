"""The pytest fixture `judged`, registered by the entry point group `pytest11`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest


@pytest.fixture(name="judged")
def judged_fixture() -> Callable[..., AbstractContextManager[object]]:
    """`with judged() as run: …`, then `run.findings`, `run.trace`, `run.assert_no_errors()`."""
    from .judged import judged

    return judged
