"""The command line. One command a module; a module is imported when its command runs, so that `--help` is quick."""

from __future__ import annotations

from .root import main

__all__ = ["main"]
