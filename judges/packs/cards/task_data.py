"""The base of what users say of tasks."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class TaskData(BaseModel):
    """Errors do not repeat values."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
