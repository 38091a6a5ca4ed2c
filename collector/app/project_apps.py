"""One application a project, each over a reader, caches and live pages of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi import FastAPI


class ProjectApps:
    """Makes the application of a project when it is first asked for. For one event loop.

    An application has one project's data from its making on, so no endpoint can leave the project out. It takes about
    a megabyte and a tenth of a second; their number is that of the projects in the keys.
    """

    def __init__(self, make: Callable[[str], FastAPI]) -> None:
        """`make` gives the application of a project; it is called on a thread."""
        self._make, self._apps, self._making = make, dict[str, FastAPI](), asyncio.Lock()

    async def of(self, project: str) -> FastAPI:
        """The application of a project."""
        async with self._making:
            if project not in self._apps:
                self._apps[project] = await asyncio.to_thread(self._make, project)
            return self._apps[project]

    async def stop_streams(self, deadline: float) -> None:
        """End the streams of all live pages: a server that stops waits for them."""
        for app in self._apps.values():
            await app.state.change_feed.stop(deadline)
