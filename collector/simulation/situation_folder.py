"""A new folder of labelled sessions: `traces/SESSION.json`, and `labels.jsonl` once all are there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tracejury.collector.otlp.codec.otlp_json import render
from tracejury.schemas.errors import ConfigError

from .situation_traces import LabelledTraces, label_lines

LABELS: Final = "labels.jsonl"
GENERATED: Final = "generate.cassette"
"""What a model wrote, while the folder is not complete; no file of traces by its name."""


def unfinished(out: Path) -> Path:
    """The cassette of a folder that is not there, or was begun and not completed.

    Raises:
        ConfigError: it is there.
    """
    try:
        there = {path.name for path in out.iterdir()} if out.exists() else set()
    except OSError as error:
        raise ConfigError(f"--out: {out} cannot be read: {error.strerror}") from None
    if there - {GENERATED, "traces"} or (there and GENERATED not in there):
        raise ConfigError(f"--out: {out} is there already, and nothing is overwritten: name a new folder")
    return out / GENERATED


def write_sessions(out: Path, sessions: Iterable[LabelledTraces]) -> int:
    """Write the folder, sessions by their names; how many there are.

    Raises:
        ConfigError: it cannot be written.
    """
    distinct = dict(sorted((one.name, one) for one in sessions))
    try:
        (out / "traces").mkdir(parents=True, exist_ok=True)
        for name, one in distinct.items():
            (out / "traces" / f"{name}.json").write_bytes(render(one.request))
        begun = out / f"{LABELS}.part"
        begun.write_text(label_lines(distinct.values()), encoding="utf-8")
        os.replace(begun, out / LABELS)  # noqa: PTH105  whoever looks meanwhile sees all of it or nothing
    except OSError as error:
        raise ConfigError(f"--out: {out} cannot be written: {error.strerror}") from None
    return len(distinct)
