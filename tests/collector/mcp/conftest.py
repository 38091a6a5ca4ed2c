"""Fixtures of MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hook_server import SECRET
from two_projects import Projects, projects

pytest.importorskip("mcp", reason="the extra mcp is not installed")


@pytest.fixture
async def world(served_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Projects]:
    """A collector with the default project and two more."""
    monkeypatch.setenv("HOOK", SECRET)
    async with projects(served_dsn, tmp_path) as made:
        yield made
