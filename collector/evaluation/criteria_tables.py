"""The judges of a panel, for programs and for people."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.judges.llm.criteria_types import Criteria
from tracejury.judges.llm.members import LlmJudges
from tracejury.schemas.text.terminal import one_line

from .tables import Column, listed


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
    columns: tuple[Column, ...] = (
        "code",
        ("criteria", "version"),
        (version, lambda judge: panel.version(judge.name)),
        "runs",
        ("when", lambda judge: ", ".join(stage.value for stage in judge.stages)),
        ("looks at", _about),
    )
    table = listed("judge", columns, ((judge.name, judge) for judge in panel.judges), most=160)
    return Group(Text(one_line(f"criteria set {panel.criteria.name}: {panel.criteria.rules.title}", 200)), table)


def _about(judge: Criteria) -> str:
    return f"{judge.title}: {judge.definition}" + (" (where there is a plan)" if judge.needs == "plan" else "")
