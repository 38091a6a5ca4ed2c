"""The parameters of clusters of errors, and the body that names one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import ERROR_FILTERS, MEASURE_FILTERS, field_values, named
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.shown import shown

from .params import MAX_LIMIT, Params, Profile, Simulated, Since, moment, with_filters
from .params_rates import DEFAULT_SINCE

CLUSTER_FILTERS: Final = (*named(ERROR_FILTERS, "service", "judge"), *named(MEASURE_FILTERS, "pack", "task"))

MOST_ERRORS: Final = 1_000
"""Errors that one request names."""


@with_filters(*CLUSTER_FILTERS)
class _ClusterFilters(Params):
    pass


class UnitParams(_ClusterFilters):
    """Of which errors: first seen since then, without an end."""

    since: Annotated[Since, Field(description="As elsewhere, of first sight; by default a day")] = ""
    profile: Profile = ""
    simulated: Simulated = False

    def query(self, now: int, packs: Collection[str], task_keys: Sequence[str]) -> ErrorQuery:
        """As the reader's question; its limit is the reader's. Raises ConfigError on a value that means nothing."""
        asked = field_values(CLUSTER_FILTERS, self)
        if asked["pack"] and asked["pack"] not in packs:
            known = ", ".join(sorted(packs)) or "none is installed"
            raise ConfigError(f"no pack {asked['pack'][:40]!r}: use one of {known}")
        return ErrorQuery(
            confidence=Confidence.of(self.profile),
            limit=0,
            since=moment("since", self.since or DEFAULT_SINCE, now),
            simulated=self.simulated,
            task_keys=task_keys,
            **asked,
        )


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
