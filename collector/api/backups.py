"""The endpoint that makes a backup of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Response
from pydantic import Field

from tracejury.collector.queries.present_backup import present_backup
from tracejury.collector.store.backup import MadeBackup
from tracejury.schemas.errors import ForbiddenError
from tracejury.schemas.wire.backups import BackupJson

from .answers import documented, json_answer
from .params import Params, Text

MakeBackup = Callable[[str], MadeBackup]
"""Makes a backup of a name ("": the time) in the collector's own folder; blocks."""


class BackupBody(Params):
    """The backup to make. No path: where backups are is the collector's configuration."""

    name: Annotated[Text, Field(description="A plain name; by default the time, such as 20261123T040000Z")] = ""


def add_backups(app: FastAPI, make: MakeBackup | None) -> None:
    """`POST /api/backups`; `make` is None for the other projects than the default one."""

    @app.post("/api/backups", responses=documented(BackupJson, 403, 503))
    def make_backup(body: BackupBody) -> Response:
        """Make a backup of the store on the collector's machine; answers once it is whole."""
        if make is None:
            raise ForbiddenError("a backup holds all projects: it needs an admin key of the default project")
        return json_answer(present_backup(make(body.name)))
