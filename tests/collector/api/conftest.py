"""One served API for all tests of this folder, emptied before each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from label_items import FINDING
from memory_api import KNOWN, Api, memory_api
from store_parts import a_run

from tracejury.schemas.trajectory import Trace, TraceState


@pytest.fixture(scope="session")
def one_api() -> Iterator[Api]:
    with memory_api() as api:
        yield api


@pytest.fixture
def api(one_api: Api) -> Api:
    one_api.empty()
    return one_api


@pytest.fixture
def labelled(api: Api) -> Api:
    """A trace with one finding and two agent runs, of which one is the manager."""
    api.reader.labels.found = {FINDING.id: FINDING}
    runs = (a_run(id="run-1"), a_run(id="run-2", parent_id="run-1", role="sub-agent"))
    api.reader.rebuilt[KNOWN] = Trace(KNOWN, "", "svc", "", TraceState.SETTLED, runs, {}, ())
    return api
