"""Measures of sessions: what is asked, and the sessions that the store answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.checks import ItemAnswer

CARD_GROUPS: Final = ("difficulty", "domain", "mode")
"""Groups of sessions by what the card of their task says."""
ATTRIBUTE: Final = "attribute:"
"""Begins a group by what spans state at a key."""
ANSWER: Final = "answer:"
"""Begins a group of sessions by the answer to a check with one item."""
OwnFigure = float | Mapping[str, float] | None
"""A figure of a pack: a number, None where it is not applicable, or shares by name."""
Cells = Mapping[tuple[str, ...], Sequence[Sequence[ItemAnswer]]]
"""By cell, of whose trials each differs by chance alone, of each trial the items of the verdict on its success.

The first part of a cell is the task.
"""
OwnFigures = Callable[[Mapping[str, Cells]], Mapping[str, Mapping[str, OwnFigure]]]
"""A pack's own figures by group of sessions."""


@dataclass(frozen=True, slots=True)
class PackMeasure:
    """One measure of a pack. `letter`: its short name; `judge`: the check whose verdicts have it.

    `averaged`: whether it is part of AVG and of the order of the worst sessions; `validates`: whether a session with a
    value below 1 is invalid. `of`: the judges whose mean it is, where it is no judge's own.
    """

    letter: str
    judge: str
    title: str
    definition: str
    averaged: bool = True
    validates: bool = False
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredPack:
    """A pack as its measures are read. `states`: the judge whose items are the states of exchanges, "" for none.

    `success`: the measure that tells whether a trial succeeded, None for none; `figures`: its own ones of trials.
    `unit`: what it measures, session or (agent) run; `best`: what the best value is shown as, 1 for shares.
    """

    name: str
    title: str
    measures: tuple[PackMeasure, ...]
    states: str = ""
    success: PackMeasure | None = None
    figures: OwnFigures | None = None
    unit: str = "session"
    best: int = 1


@dataclass(frozen=True, slots=True)
class MeasureQuery:
    """Measures of sessions, or of the runs of traces, whose last span arrived in [`since`, `until`), unix nanos.

    `pack`: "" for all; `by`: service, version, agent, model, task, behaviour, one of `CARD_GROUPS`, attribute:KEY or
    answer:CHECK; of two a group has one of each, of none there are no groups; `step`: nanos of one point in time, 0 for
    the whole; `pooled`: numerators over denominators instead of the mean of sessions; `simulated`: simulated sessions
    instead of real ones. The other filters are exact, "" none. A session has the version, agent, model, task and
    attribute of its first trace that names one. `limit`: groups, those with the lowest average first. `trials`: also
    the figures of tasks that were tried several times, of `k` trials, of which one succeeds whose measure of success is
    at least `threshold`.
    """

    since: int
    until: int
    pack: str = ""
    by: tuple[str, ...] = ()
    step: int = 0
    pooled: bool = False
    service: str = ""
    version: str = ""
    agent: str = ""
    model: str = ""
    task: str = ""
    limit: int = 100
    simulated: bool = False
    trials: bool = False
    k: int = 1
    threshold: float = 1.0


@dataclass(frozen=True, slots=True)
class SessionMeasure:
    """One measure of one session or run, 1 the best value. `value` None: not applicable, or `unscored`.

    `weight`: sessions or runs that it stands for, 1 / the probability of being judged; 0 where somebody asked for it by
    hand, as chance did not choose it.
    """

    value: float | None
    raw: float | None
    numerator: float
    denominator: float
    unscored: bool
    weight: float


@dataclass(frozen=True, slots=True)
class MeasuredSession:
    """A session, or an agent run, with its measures by judge. `at`: arrival of its last span.

    `keys`: its groups, by each name in `MeasureQuery.by` a value, "" of no name; in place of what a card says the task.
    `trace_id` and `run_id` of a run, whose `session_id` may be "".

    `weight`: the largest of its measures. `ungrounded`: items by judge, those of exchanges where it has none itself;
    `items`: by judge, how many each of its exchanges has. `invalid`: it counts in no measure, as a check that validates
    sessions is below 1. `cell`: of trials, its task ("" for none), and whatever else trials of it have in common.
    """

    service: str
    session_id: str
    at: int
    keys: tuple[tuple[str, ...], ...]
    weight: float
    measures: Mapping[str, SessionMeasure]
    ungrounded: Mapping[str, int] = field(default_factory=dict)
    items: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    invalid: bool = False
    cell: tuple[str, ...] = ()
    trace_id: str = ""
    run_id: str = ""
