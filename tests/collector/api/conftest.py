"""A trace that people label."""

from __future__ import annotations

import pytest
from label_items import FINDING, put_labelled
from served_api import Api


@pytest.fixture
def labelled(api: Api) -> Api:
    """A trace with one finding and two agent runs, of which one is the manager."""
    put_labelled(api, FINDING)
    return api
