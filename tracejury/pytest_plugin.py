"""The pytest fixtures `judged` and `regressions`, registered by the entry point group `pytest11`.

It imports nothing before they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .collector.evaluation.regressions.result import RegressionResults
    from .sdk import JudgedRun


@pytest.fixture(name="judged")
def judged_fixture() -> Callable[..., AbstractContextManager[JudgedRun]]:
    """`with judged() as run: …`, then `run.findings`, `run.trace`, `run.assert_no_errors()`."""
    from .sdk import judged

    return judged


@pytest.fixture(name="regressions")
def regressions_fixture() -> Callable[..., RegressionResults]:
    """`regressions("cases", model="…", times=10).assert_wrong_at_most(.1)`: no step that went wrong does again."""
    from .collector.evaluation.regressions.run import run_regressions

    return run_regressions
