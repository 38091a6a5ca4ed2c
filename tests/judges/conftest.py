"""Fixtures of the judges' tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tracejury.judges import bootstrap


@pytest.fixture(autouse=True, scope="module")
def few_resamples() -> Iterator[None]:
    """A short bootstrap: its intervals need not be narrow here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "RESAMPLES", 20)
        yield
