"""Sets of rubrics as files, and the pack SCOPE with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tracejury.judges.packs.loader import load_packs
from tracejury.judges.packs.pack_types import Pack

TWELVE = [7] * 7 + [8] * 5
"""Weights."""


def rubrics(label: str, weights: Sequence[int], make_or_break: int = 0) -> list[dict[str, Any]]:
    """Rubrics good-0, good-1 …, or bad-0 …; the first so many are make-or-break."""
    return [
        {"name": f"{label}-{n}", "text": f"It is {label} in point {n}.", "label": label, "weight": weight}
        | ({"make_or_break": True} if n < make_or_break else {})
        for n, weight in enumerate(weights)
    ]


def set_of(
    good: Sequence[int] = TWELVE, bad: Sequence[int] = (5,) * 12, make_or_break: int = 12, **more: Any
) -> dict[str, Any]:
    """An accepted set by the weights of its rubrics; `more`: other keys of the file."""
    both = [*rubrics("good", good), *rubrics("bad", bad, make_or_break)]
    return {"method": "scope", "accepted_by": "ada", "rubrics": both} | more


def set_file(folder: Path, data: Mapping[str, Any]) -> Path:
    """The set as a file."""
    file = folder / "rubrics.yaml"
    file.write_text(yaml.safe_dump(dict(data)), "utf-8")
    return file


def scope_pack(folder: Path, data: Mapping[str, Any] | None = None, **settings: Any) -> Pack:
    """The pack with a set."""
    chosen = {"rubrics": str(set_file(folder, data or set_of()))} | settings
    (pack,) = load_packs(["scope"], {"scope": chosen})
    return pack
