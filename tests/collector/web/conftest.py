"""One browser a session, one page a test; pages over memory or over what a test serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from served_api import Api

if TYPE_CHECKING:
    from browsing import Chromium, Watched
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Debian's chromium under Playwright; a test that needs it is skipped where either is absent."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    from browsing import start_chromium

    started = start_chromium()
    yield started
    started.close()


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Browser]:
    """The browser, for the time of a test."""
    with chromium.in_use() as browser:
        yield browser


@pytest.fixture
def open_site(browser: Browser) -> Iterator[Callable[[str], Watched]]:
    """A function that opens a page of its own on the site at an address."""
    from browsing import watched

    with ExitStack() as stack:
        yield lambda base: stack.enter_context(watched(browser, base))


@pytest.fixture
def site(api: Api, open_site: Callable[[str], Watched]) -> Watched:
    """A page of the site over memory."""
    return open_site(api.url)
