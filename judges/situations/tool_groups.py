"""The tools of simulated sessions, in groups: ours, as `tool_groups.yaml` has them, or those of a file."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Any, Final, Self

from pydantic import Field, model_validator

from tracejury.judges.llm.criteria_types import Data, Name, Text
from tracejury.judges.llm.data_files import read_model

NEED_TWO_TOOLS: Final = frozenset({"wrong-tool-silent", "wrong-tool-aware"})
"""Situations in which another tool is called than the one needed."""
WITH_VERIFICATIONS: Final = frozenset({"security-overkill", "unneeded-gate"})
"""Situations in which a harmless request is verified."""

ToolName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$", strict=True)]


class OfferedTool(Data):
    """A tool that an agent is given. `parameters`: the JSON schema of its arguments; `verification`: see the file."""

    name: ToolName
    description: Text
    parameters: dict[str, Any]
    verification: Annotated[bool, Field(strict=True)] = False

    @property
    def definition(self) -> dict[str, Any]:
        """As the GenAI conventions write it."""
        return {"type": "function", **self.model_dump(exclude={"verification"})}


class ToolGroup(Data):
    """The tools of one assistant."""

    name: Name
    tools: Annotated[tuple[OfferedTool, ...], Field(min_length=1, max_length=30)]

    def offered(self, situation: str) -> tuple[OfferedTool, ...]:
        """The tools of a session of that situation: with our verifications where those are overdone."""
        names = {tool.name for tool in self.tools}
        more = (tool for tool in verifications() if tool.name not in names)
        return (*self.tools, *more) if situation in WITH_VERIFICATIONS else self.tools

    def can_show(self, situation: str) -> bool:
        """Whether it has the tools for a session of that situation."""
        return situation not in NEED_TWO_TOOLS or len(self.tools) > 1


class ToolGroups(Data):
    """The groups of a file, each name once; so are the tools of each group."""

    groups: Annotated[tuple[ToolGroup, ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        lists = {"groups": self.groups} | {f"groups: tools of {group.name}": group.tools for group in self.groups}
        for place, named in lists.items():
            names = [one.name for one in named]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"{place}: two have the name {twice[0]!r}")
        return self


def read_tool_groups(file: Traversable) -> tuple[ToolGroup, ...]:
    """The groups of a YAML or JSON file.

    Raises:
        ConfigError: what is wrong in it, in one line, with file and key.
    """
    return read_model(file, ToolGroups).groups


@cache
def tool_groups() -> tuple[ToolGroup, ...]:
    """Ours."""
    return read_tool_groups(resources.files(__package__) / "tool_groups.yaml")


@cache
def verifications() -> tuple[OfferedTool, ...]:
    """The security and compliance tools among ours."""
    return tuple(tool for group in tool_groups() for tool in group.tools if tool.verification)
