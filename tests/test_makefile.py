"""The targets of the Makefile that a newcomer starts with."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def test_the_installation_says_what_it_does_before_it_is_silent(tmp_path: Path) -> None:
    """In one line, before the first package is asked for; not where all is installed."""
    venv, tools = tmp_path / "venv", tmp_path / "bin"
    for folder in (venv, tools):
        folder.mkdir()
    (tools / "uv").write_text('#!/bin/sh\necho "uv $1"\n')
    (tools / "uv").chmod(0o755)
    told = [_make("setup", f"VENV={venv}", tools=tools).splitlines() for _ in range(2)]
    assert [line.split()[0] for line in told[0]] == ["Installing", "uv", "uv", "uv"]
    assert str(venv) in told[0][0]
    assert [line for line in told[1] if "Installing" in line] == []


def _make(*arguments: str, tools: Path) -> str:
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
    command = ["make", "--no-print-directory", *arguments]
    done = subprocess.run(  # noqa: S603  ours
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
