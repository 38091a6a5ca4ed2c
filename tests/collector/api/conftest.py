"""One served API for all tests of this folder, emptied before each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memory_api import Api, memory_api


@pytest.fixture(scope="session")
def one_api() -> Iterator[Api]:
    with memory_api() as api:
        yield api


@pytest.fixture
def api(one_api: Api) -> Api:
    one_api.empty()
    return one_api
