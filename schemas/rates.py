"""Error rates: what is asked, the sums that intervals need, and the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum

from .not_judged import NotJudged


class Unit(StrEnum):
    """The unit that is counted: each has at least one error, or none."""

    RUN = "run"
    TURN = "turn"
    TRACE = "trace"
    SESSION = "session"


class By(StrEnum):
    """The break-downs of rates. A finding of several dimensions counts in each; a category names its taxonomy.

    A run counts in each behaviour of its exchanges' users; "" where nobody said how they behave.
    """

    SERVICE = "service"
    VERSION = "version"  # of the service
    AGENT = "agent"
    ROLE = "role"
    MODEL = "model"
    SESSION = "session"
    BEHAVIOUR = "behaviour"  # of the users
    JUDGE = "judge"
    DIMENSION = "dimension"
    TAXONOMY = "taxonomy"
    CATEGORY = "category"
    SEVERITY = "severity"
    TOOL = "tool"


class Population(StrEnum):
    """The judges whose findings count, in the runs that they judged."""

    DETECTORS = "detectors"
    JUDGES = "judges"
    BOTH = "both"  # runs that LLM judges looked at, with the findings of detectors and judges


@dataclass(frozen=True, slots=True)
class RateQuery:
    """Rates over [`since`, `until`) in unix nanos, of arrival at the collector.

    `step`: nanos of one point in time, 0 for the whole; `by` None: no break-down; `population` None: BOTH where LLM
    judges looked at anything in that time, else DETECTORS. `severity`: at least; the other filters are exact, "" none.
    `profile`: as elsewhere, "" the default of each trace. `attributes`, `tag` and `user`: as of a `TraceQuery`.
    `simulated`: of simulated sessions instead of real ones. `limit`: groups, the worst first.
    """

    since: int
    until: int
    step: int = 0
    by: By | None = None
    unit: Unit = Unit.RUN
    population: Population | None = None
    profile: str = ""
    service: str = ""
    version: str = ""
    agent: str = ""
    role: str = ""
    model: str = ""
    session: str = ""
    behaviour: str = ""
    judge: str = ""
    dimension: str = ""
    taxonomy: str = ""
    category: str = ""
    severity: str = ""
    tool: str = ""
    attributes: Sequence[tuple[str, str]] = ()
    tag: str = ""
    user: str = ""
    simulated: bool = False
    calibrated: bool = False
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over clusters i (a run; for turns the run that they are of) of weight w.

    t: units in the cluster (1 but for turns); b: units with an error; y: errors. `n`: clusters, `units` and `hits`
    and `errors`: Σt, Σb, Σy unweighted. Sums of disjoint sets add up.
    """

    n: int = 0
    units: int = 0
    hits: int = 0
    errors: int = 0
    w: float = 0.0
    w2: float = 0.0
    wt: float = 0.0
    w2t2: float = 0.0
    wb: float = 0.0
    w2b2: float = 0.0
    w2bt: float = 0.0
    wy: float = 0.0
    w2y: float = 0.0
    w2yt: float = 0.0
    w2y2: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        """The sums of both sets together."""
        return Sums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """`judged` units were judged, `hits` of them with at least one error, `errors` in all: as counted.

    `share`: units with at least one error; `mean`: errors a unit; both weighted, None where nothing was judged.
    `effective`: independent units of equal weight that would tell as much. `sampled`: some stand for several.
    `calibrated`: the share corrected by human labels; None where there are too few.
    """

    judged: int
    hits: int
    errors: int
    effective: float
    sampled: bool
    share: Estimate | None
    mean: Estimate | None
    calibrated: Estimate | None = None


@dataclass(frozen=True, slots=True)
class RateRow:
    """The rate of one group ("" where nothing is grouped, or where it has no name) at one point in time.

    `at`: unix nanos of the beginning of its step; of the query's `since` where it has none.
    """

    key: str
    at: int
    rate: Rate


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Runs of that time that count in no rate, by reason: `open` traces, `failed` (unscored), and so on."""

    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RateAnswer:
    """`total`: of everything asked; `rows`: by group (worst first by share) and point in time (ascending).

    `population`: the one that was used; `left`: groups beyond the limit; `from_rollups`: no sums are
    kept, so it is False; `uncalibrated`: why labels correct nothing, where
    calibrated shares were asked for. `traces`: of that time and service, by why no judge looked (None: one did),
    whatever else was asked for.
    """

    population: Population
    total: Rate
    rows: tuple[RateRow, ...]
    unjudged: Unjudged
    left: int = 0
    from_rollups: bool = False
    uncalibrated: str = ""
    traces: Mapping[NotJudged | None, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolRates:
    """Of each tool the share of its own calls with a finding, the worst first; `left`: tools beyond the limit."""

    population: Population
    rows: tuple[RateRow, ...]
    left: int = 0


@dataclass(frozen=True, slots=True)
class RateComparison:
    """Whether `b` differs from `a`: `difference` of the shares (b - a) with its interval, and the p-value of a test.

    None where one of them has nothing judged. `mean_*` likewise of errors a unit.
    """

    a: RateAnswer
    b: RateAnswer
    difference: Estimate | None
    p_value: float | None
    mean_difference: Estimate | None
    mean_p_value: float | None
