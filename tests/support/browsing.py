"""Pages in a real browser: what they load, what they complain of, and how accessible they are."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""Debian's; the first has no windows, which cost three quarters of the work of a test."""
GRAVE = frozenset({"serious", "critical"})


@dataclass
class Watched:
    """A page under watch. `quiet` tells whether it complained of nothing and asked nobody else for anything."""

    page: Page
    base: str
    console: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def open(self, path: str) -> Response | None:
        """Go to a path of the site and wait until it is loaded."""
        return self.page.goto(f"{self.base}{path}", wait_until="load")

    def check_quiet(self) -> None:
        """Nothing on the console, no request to another origin, none that failed."""
        assert (self.console, self.foreign, self.failed) == ([], [], [])

    def check_accessible(self) -> None:
        """Axe finds no serious or critical violation, in either theme."""
        from axe_playwright_python.sync_playwright import Axe

        for theme in ("light", "dark"):
            self.page.emulate_media(color_scheme=theme)
            found: Sequence[dict[str, Any]] = Axe().run(self.page).response["violations"]
            told = [(v["id"], v["impact"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in GRAVE]
            assert told == [], f"{theme}: {told}"


class Chromium:
    """Debian's chromium, headless, for a whole session.

    Playwright keeps an event loop that counts as running in this thread for as long as it lives, so that no other test
    could run one: it counts only inside `in_use`.
    """

    def __init__(self) -> None:
        from playwright.sync_api import sync_playwright

        self._manager = sync_playwright()
        playwright = self._manager.start()
        self.browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=["--no-sandbox"])
        self._loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)  # what loops of one's own are made with

    @contextmanager
    def in_use(self) -> Iterator[Browser]:
        """The browser, while its loop is the thread's."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self.browser
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """End browser and driver."""
        # The driver has been seen not to end when it was told to, which the whole session would wait for.
        last = Timer(PATIENCE, _kill_drivers)
        last.start()
        with self.in_use():
            self.browser.close()
            self._manager.__exit__()
        last.cancel()


PATIENCE = 20.0
"""Seconds for which the driver may take to end."""


def _kill_drivers() -> None:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((process / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"/playwright/driver/" in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


def start_chromium() -> Chromium:
    """The browser; skips where there is none."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    return Chromium()


@contextmanager
def watched(browser: Browser, base: str) -> Iterator[Watched]:
    """A page of its own: no cookie or storage of another test's."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, reduced_motion="reduce", service_workers="block"
    )
    context.set_default_timeout(10_000)
    page = context.new_page()
    watch = Watched(page, base.rstrip("/"))
    origin = urlsplit(base).netloc
    page.on("console", lambda m: watch.console.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: watch.console.append(str(error)))
    page.on("request", lambda r: None if _own(r.url, origin) else watch.foreign.append(r.url))
    page.on("response", lambda r: watch.failed.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    try:
        yield watch
    finally:
        context.close()


def _own(url: str, origin: str) -> bool:
    return urlsplit(url).netloc == origin or bool(re.match(r"(about|data|blob):", url))
