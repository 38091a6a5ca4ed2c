"""The parameters of measures."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.figure_filters import MEASURE_FILTERS
from tracejury.schemas.filters import field_values
from tracejury.schemas.queries.measures import ANSWER, ATTRIBUTE, CARD_GROUPS, MeasureQuery

from .params import MAX_LIMIT, Params, Simulated, Since, Text, late_moment, moment, with_filters
from .params_rates import Step, other_query, step_length

DEFAULT_SINCE: Final = "7d"
GROUPS: Final = ("service", "version", "agent", "model", "task", "behaviour", *CARD_GROUPS)
MOST_KEYS: Final = 2
OPEN_GROUPS: Final = {ATTRIBUTE: "KEY", ANSWER: "CHECK"}
"""Groups with a name of one's own after these words."""
_GROUPS: Final = ", ".join((*GROUPS, *(f"{word}{name}" for word, name in OPEN_GROUPS.items())))


@with_filters(*MEASURE_FILTERS)
class _MeasureFilters(Params):
    by: Annotated[Text, Field(description=f"One of {_GROUPS}; two with a comma; by default no groups")] = ""
    step: Step = ""
    since: Annotated[Since, Field(description="As elsewhere, by arrival of a session's last span; by default 7d")] = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`; by default now")] = ""
    simulated: Simulated = False
    pooled: Annotated[bool, Field(description="Numerators over denominators, not the mean over sessions")] = False
    trials: Annotated[bool, Field(description="Also figures of tasks that were tried several times")] = False
    k: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Trials that max@k, pass@k and pass^k are of")] = 1
    threshold: Annotated[
        float, Field(gt=0, le=1, allow_inf_nan=False, description="The least value of a trial that succeeds")
    ] = 1.0
    limit: Annotated[
        int,
        Field(ge=1, le=MAX_LIMIT, description="Groups at most, the lowest average first; `left` says how many more"),
    ] = 100


class MeasureParams(_MeasureFilters):
    """Of measures: which pack and sessions, when, by which groups, and what they are compared to."""

    compare_to: Annotated[
        Text,
        Field(description="previous (the time of the same length before), version=X, service=X, or FROM..UNTIL"),
    ] = ""

    def query(self, now: int) -> MeasureQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        if not self.trials and (alone := self.model_fields_set & {"k", "threshold"}):
            raise ConfigError(f"{min(alone)}: only with trials")
        return MeasureQuery(
            since=moment("since", self.since or DEFAULT_SINCE, now),
            until=late_moment("until", self.until, now) or now,
            by=checked_groups(self.by),
            step=step_length(self.step),
            pooled=self.pooled,
            simulated=self.simulated,
            trials=self.trials,
            k=self.k,
            threshold=self.threshold,
            limit=self.limit,
            **field_values(MEASURE_FILTERS, self),
        )

    def other(self, query: MeasureQuery, now: int) -> MeasureQuery | None:
        """What a query is compared to, None for nothing. Raises as `query`."""
        to = self.compare_to.strip()
        return other_query(query, to, now, "compare_to") if to else None


def checked_groups(by: str) -> tuple[str, ...]:
    """The names, none for no groups. Raises ConfigError where one is no group, or for too many."""
    names = tuple(filter(None, (name.strip() for name in by.split(","))))
    for name in names:
        if name not in GROUPS and (name in OPEN_GROUPS or not name.startswith(tuple(OPEN_GROUPS))):
            raise ConfigError(f"by: {name[:40]!r} is no group: use one of {_GROUPS}")
    if len({*names}) < len(names) or len(names) > MOST_KEYS:
        raise ConfigError(f"by: name at most {MOST_KEYS} groups, each once")
    return names
