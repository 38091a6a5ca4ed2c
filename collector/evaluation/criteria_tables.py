"""The judges of a panel, for programs and for people."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ...judges.llm.criteria_types import Criteria
from ...judges.llm.members import LlmJudges
from ...schemas.text.terminal import one_line
from .report import grid


def criteria_json(panel: LlmJudges) -> dict[str, Any]:
    """The set and its judges, criteria and all."""
    return {
        "set": panel.criteria.name,
        "title": panel.criteria.rules.title,
        "model": panel.model,
        "judges": [{"id": panel.version(j.name), **j.model_dump(mode="json")} for j in panel.judges],
    }


def criteria_table(panel: LlmJudges) -> RenderableType:
    """A line a judge. Its version here is that of its criteria; with the model it is what is stored with a verdict."""
    version = "version with the model" if panel.model else "version without a model"
    table = grid("judge", "code", "criteria", version, "runs", "when", "looks at")
    for j in panel.judges:
        cells = (j.code, str(j.version), panel.version(j.name), j.runs, ", ".join(s.value for s in j.stages), _about(j))
        table.add_row(Text(one_line(j.name, 60)), *(Text(one_line(cell, 160)) for cell in cells))
    return Group(Text(one_line(f"criteria set {panel.criteria.name}: {panel.criteria.rules.title}", 200)), table)


def _about(judge: Criteria) -> str:
    return f"{judge.title}: {judge.definition}" + (" (where there is a plan)" if judge.needs == "plan" else "")
