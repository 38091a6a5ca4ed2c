"""CONTRIBUTING.md leads to files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("collector/", "processors/", "judges/", "schemas/", "tests/", "tracejury/")


def test_every_file_that_it_names_exists() -> None:
    named = re.findall(r"`([a-z_]+/[\w/.]*)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    paths = [name for name in named if name.startswith(FOLDERS)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
