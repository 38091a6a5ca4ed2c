"""Measures of sessions: what is asked, and the sessions that the store answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PackMeasure:
    """One measure of a pack. `letter`: its short name; `judge`: the check whose verdicts have it."""

    letter: str
    judge: str
    title: str
    definition: str


@dataclass(frozen=True, slots=True)
class MeasuredPack:
    """A pack as its measures are read. `states`: the judge whose items are the states of exchanges, "" for none."""

    name: str
    title: str
    measures: tuple[PackMeasure, ...]
    states: str = ""


@dataclass(frozen=True, slots=True)
class MeasureQuery:
    """Measures of sessions whose last span arrived in [`since`, `until`), unix nanos.

    `pack`: "" for all; `by`: service, version, agent, model, task, behaviour or attribute:KEY, "" for no groups;
    `step`: nanos of one point in time, 0 for the whole; `pooled`: numerators over denominators instead of the mean of
    sessions; `simulated`: simulated sessions instead of real ones. The other filters are exact, "" none. A session has
    the version, agent, model, task and attribute of its first trace that names one. `limit`: groups, those with the
    lowest average first.
    """

    since: int
    until: int
    pack: str = ""
    by: str = ""
    step: int = 0
    pooled: bool = False
    service: str = ""
    version: str = ""
    agent: str = ""
    model: str = ""
    task: str = ""
    limit: int = 100
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class SessionMeasure:
    """One measure of one session. `value` None: not applicable, or `unscored`.

    `weight`: sessions that it stands for, 1 / the probability of being judged; 0 where somebody asked for it by hand,
    as chance did not choose it.
    """

    value: float | None
    raw: float | None
    numerator: float
    denominator: float
    unscored: bool
    weight: float


@dataclass(frozen=True, slots=True)
class MeasuredSession:
    """A session with its measures by judge. `at`: arrival of its last span; `keys`: its groups, "" of no name.

    `weight`: the largest of its measures. `ungrounded`: items by judge, those of exchanges where it has none itself;
    `items`: by judge, how many each of its exchanges has.
    """

    service: str
    session_id: str
    at: int
    keys: tuple[str, ...]
    weight: float
    measures: Mapping[str, SessionMeasure]
    ungrounded: Mapping[str, int] = field(default_factory=dict)
    items: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
