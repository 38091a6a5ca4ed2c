"""The pytest fixture `judged`, registered by the entry point group `pytest11`; imports nothing before it is used."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .sdk import JudgedRun


@pytest.fixture(name="judged")
def judged_fixture() -> Callable[..., AbstractContextManager[JudgedRun]]:
    """`with judged() as run: …`, then `run.findings`, `run.trace`, `run.assert_no_errors()`."""
    from .sdk import judged

    return judged
