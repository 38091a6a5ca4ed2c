"""A folder of captures: `<label>/<name>.zip`, the raw requests of one run, and `<name>.meta.json`, its truth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracejury.collector.otlp.codec.groups import Request
from tracejury.collector.otlp.files import BrokenFileError, read

from .truth import Truth, parse

_META = ".meta.json"


@dataclass(frozen=True, slots=True)
class Capture:
    """One captured run: `label/name`, its requests in the order of their arrival, and the truth."""

    label: str
    name: str
    requests: tuple[Request, ...]
    truth: Truth

    @property
    def id(self) -> str:
        """Its name in reports."""
        return f"{self.label}/{self.name}"


def paths(folder: Path, label: str = "") -> list[Path]:
    """The archives in a folder that have a truth beside them, of one label or all, sorted.

    Raises:
        BrokenFileError: there are none.
    """
    found = sorted(p for p in folder.glob("*/*.zip") if _meta(p).exists() and label in {"", p.parent.name})
    if not found:
        of = f" of label {label}" if label else ""
        raise BrokenFileError(f"no captures{of} in {folder}: expected <label>/<name>.zip and <name>{_META}")
    return found


def load(archives: list[Path]) -> Iterator[Capture]:
    """The captures in these archives.

    Raises:
        BrokenFileError: an archive or its truth is not what it should be; names the file.
    """
    for path in archives:
        meta = _meta(path)
        try:
            truth = parse(json.loads(meta.read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BrokenFileError(f"{meta} holds no ground truth: {' '.join(str(error).split())[:200]}") from error
        yield Capture(path.parent.name, path.stem, tuple(s.request for s in read([path])), truth)


def _meta(archive: Path) -> Path:
    return archive.with_name(archive.stem + _META)
