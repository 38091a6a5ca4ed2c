"""The server of the API, whichever endpoints of it a process has; an application a project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi import FastAPI

from tracejury.collector.api.access import Access
from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.auth.sign_in import SignIns
from tracejury.collector.config import CollectorConfig
from tracejury.collector.otlp.receiver.tls import ListenerTls
from tracejury.collector.otlp.receiver.web_server import WebServer

from .context import Stop


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
            if hasattr(app.state, "change_feed"):
                await app.state.change_feed.stop(deadline)


async def serve_api(
    config: CollectorConfig, keyring: Keyring, make: Callable[[str], FastAPI], sign_ins: SignIns, stops: list[Stop]
) -> int:
    """Serve the applications of all projects, as `make` gives them, until one of `stops` is called; returns the port.

    Raises:
        ConfigError: a taken port, or a file of TLS that cannot be used.
    """
    tls = ListenerTls(config.api.tls, "api.tls") if config.api.tls else None
    apps = ProjectApps(make)
    await apps.of("")
    access = Access(keyring, sign_ins, apps.of, config.keys.proxy)
    server = WebServer(access, config.api.endpoint, "api", config.api, tls=tls)
    port = await server.start()
    stops.extend([server.stop, apps.stop_streams])  # streams end first: the server waits for them
    return port
