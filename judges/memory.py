"""What a suite keeps of a growing trace from one pass to the next: it saves work and never changes an outcome."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracejury.schemas.findings import Draft, Finding
from tracejury.schemas.trajectory import AgentRun, Turn

from .evidence import RunPlaces
from .exit_status import Ended
from .facts import RunFacts, RunSetting, TurnFacts
from .history import Told
from .text import TextCache


@dataclass(slots=True)
class KnownRun:
    """A run as it was read.

    `turns`: before failures were looked for in later ones. `answers`: of the runs that it started, by id (None: no
    such run). `told`, `said`: see history.py; `succeeded`: it obtained data.
    """

    run: AgentRun
    setting: RunSetting
    turns: tuple[TurnFacts, ...]
    answers: Mapping[str, str | None]
    told: Told
    said: tuple[str, ...]
    succeeded: bool
    facts: RunFacts


@dataclass(slots=True)
class PlacedDraft:
    """A valid draft; `holds`: whether its span has its evidence in `turn`, None where nobody looked yet.

    `moved`: the other span of its run that has it, None for none; only known where `searched`. `placed`: the draft with
    its place, as it last was.
    """

    draft: Draft
    placed: Draft | None = None
    holds: bool | None = None
    turn: Turn | None = None
    searched: bool = False
    moved: str | None = None


@dataclass(slots=True)
class RuleDrafts:
    """What a rule found in a run. `failure`: see `SuiteResult`; `raised`: it broke off, so nothing it found counts.

    `reads`: what it asked about the rest of the trace, with the answers; None where it may have seen anything.
    """

    drafts: tuple[PlacedDraft, ...] = ()
    failure: str = ""
    raised: bool = False
    reads: dict[tuple[str, Hashable], Any] | None = None


@dataclass(slots=True)
class KnownDrafts:
    """What the rules of a suite found in a run, by place of the rule; those that found and asked nothing are left out.

    `reads`: what all of them asked, with the answers.
    """

    facts: RunFacts
    rules: tuple[object, ...]
    by_rule: dict[int, RuleDrafts]
    reads: dict[tuple[str, Hashable], Any] | None = None


@dataclass(slots=True)
class SuiteMemory:
    """By run id: as it was read, what was found in it, and the places of its spans. `ends`: see executions.py.

    `findings`: by id, each with all that it was made of.
    """

    texts: TextCache = field(default_factory=TextCache)
    runs: dict[str, KnownRun] = field(default_factory=dict)
    drafts: dict[str, KnownDrafts] = field(default_factory=dict)
    places: dict[str, RunPlaces] = field(default_factory=dict)
    ends: dict[str, Ended | None] = field(default_factory=dict)
    findings: dict[str, tuple[object, Finding]] = field(default_factory=dict)
