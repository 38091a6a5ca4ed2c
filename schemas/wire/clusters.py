"""The JSON of clusters of errors. From the first release on, keys are only ever added."""

from __future__ import annotations

from typing import Any

from .base import Time, WireModel
from .rates import EstimateJson


class ClusterErrorJson(WireModel):
    """An error of a cluster, at its primary span."""

    error_id: str
    trace_id: str
    span_id: str


class ClusterJson(WireModel):
    """Alike errors. `name`: what a model called their type where `named`, else the terms or category they share.

    `errors`: how many from `since` on, and `before` in the time of equal length before; `change`: their ratio, null
    where there were none before; `share`: of all errors; `example`: the category and reason of one of them.
    """

    name: str
    named: bool
    tool: str
    errors: int
    sessions: int
    share: float
    before: int
    change: EstimateJson | None
    example: str
    spans: list[ClusterErrorJson]


class ClustersJson(WireModel):
    """Clusters of the errors in [`since`, `until`), the largest first. `errors`: all; `single`: those like no others.

    `sampled`: how many errors of both times were compared, null where all were; counts are then scaled, and sessions
    are those of the sample. `left`: clusters beyond the limit. `tools`: the parameters, a JSON schema, of tools.
    `unknown`: filters that name what is not stored, with the nearest known names, where there are no errors.
    """

    since: Time
    until: Time
    errors: int
    single: int
    sampled: int | None
    by_text: bool
    items: list[ClusterJson]
    left: int
    tools: dict[str, dict[str, Any]]
    unknown: dict[str, list[str]]


class UnnamedGroupJson(WireModel):
    """Errors that get a name together: `text` stands for them. `name`: the one that they have, "" for none."""

    text: str
    tool: str
    name: str
    error_ids: list[str]


class UnnamedGroupPage(WireModel):
    """What a model would be asked to name, the largest first, and the types that have a name."""

    items: list[UnnamedGroupJson]


class NamedErrorsJson(WireModel):
    """How many errors got the name: those that there are."""

    named: int
