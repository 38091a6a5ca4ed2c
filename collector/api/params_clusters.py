"""The parameters of clusters of errors, and the body that names one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.figure_filters import MEASURE_FILTERS
from tracejury.schemas.filters import ERROR_FILTERS, field_values, named
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.shown import shown

from .params import MAX_LIMIT, Params, Profile, Simulated, Since, Text, late_moment, moment, with_filters
from .params_rates import DEFAULT_SINCE

CLUSTER_FILTERS: Final = (*named(ERROR_FILTERS, "service", "judge"), *named(MEASURE_FILTERS, "pack", "task"))

MOST_ERRORS: Final = 1_000
"""Errors that one request names."""


@with_filters(*CLUSTER_FILTERS)
class ClusterFilters(Params):
    """Of which errors, without their time."""

    profile: Profile = ""
    simulated: Simulated = False


class UnitParams(ClusterFilters):
    """Of which errors, by first sight."""

    since: Annotated[Since, Field(description="As elsewhere, of first sight; by default a day")] = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`; by default now")] = ""

    def query(self, now: int, packs: Collection[str], task_keys: Sequence[str]) -> tuple[ErrorQuery, int]:
        """As the reader's question, and its end. Raises ConfigError on a value that means nothing."""
        since = moment("since", self.since or DEFAULT_SINCE, now)
        until = late_moment("until", self.until, now) or now
        if since > until:
            raise ConfigError("the time ends before it begins: until must lie after since")
        return error_query(self, since, packs, task_keys), until


def error_query(asked: ClusterFilters, since: int, packs: Collection[str], task_keys: Sequence[str]) -> ErrorQuery:
    """Errors from then on; the limit is the reader's. Raises ConfigError: there is no such pack or profile."""
    given = field_values(CLUSTER_FILTERS, asked)
    if given["pack"] and given["pack"] not in packs:
        known = ", ".join(sorted(packs)) or "none is installed"
        raise ConfigError(f"no pack {given['pack'][:40]!r}: use one of {known}")
    confidence = Confidence.of(asked.profile)
    return ErrorQuery(confidence, 0, since=since, simulated=asked.simulated, task_keys=task_keys, **given)


class ClusterParams(UnitParams):
    """Of clusters."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Clusters at most; `left` says how many more")] = 100
    tools: Annotated[bool, Field(description="Also the parameters of their tools, which takes longer")] = False


def _line(name: str) -> str:
    line = " ".join(shown(name).split())
    if not line:
        raise ValueError("must be a text that can be seen")
    return line


class NameBody(Params):
    """The name of a type, and errors that are of it."""

    name: Annotated[str, StringConstraints(max_length=400), AfterValidator(_line)]
    error_ids: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=64)], ...], Field(min_length=1, max_length=MOST_ERRORS)
    ]
