"""Judged traces as stored, as far as errors and facts are made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome


@dataclass(frozen=True, slots=True)
class BaseRun:
    """An agent run, as its trace's row has it; one `beside` others is counted in no rate of runs.

    `not_judged`: as of `BaseTrace`; rows of an earlier version do not say it.
    """

    id: str
    name: str
    role: str
    parent_id: str
    turns: int
    model: str
    beside: bool = False
    not_judged: str = ""


@dataclass(frozen=True, slots=True)
class BaseCall:
    """The tool that a span is a call of, or, `asked`, that it asked for and no other."""

    tool: str
    asked: bool


@dataclass(frozen=True, slots=True)
class BaseWord:
    """The ledger's last entry of one judge on one subject. `failed`: names of the detectors that raised, of theirs."""

    subject_id: str
    judge: str
    outcome: Outcome
    probability: float
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaseFinding:
    """A finding that stands. `llm`: of an LLM judge."""

    finding: Finding
    llm: bool


@dataclass(frozen=True, slots=True)
class BaseTrace:
    """A trace that stands for itself and for what was joined to it. `at`: unix nanos of its latest arrival.

    `parts`: the ids of all those traces, its own first. `detectors`: their word, None where there is none (yet);
    `words`: those of LLM judges on its runs; `exchange_words`: on its exchanges; `whole_words`: on it as a whole;
    `scored`: (id of run, exchange or trace, judge) of the verdicts with a score or value. `behaviours`: of users, by
    exchange, as far as packs say; `began`: by sub-agent the exchange in which it began, where its manager
    has several; `behaviour`: of a `simulated` user, "" unknown. `not_judged`: why no judge could look (`NotJudged`), ""
    where one could. `names`: of the clusters that its errors are in, by the error's id.
    """

    tenant: str
    trace_id: str
    at: int
    service: str
    version: str
    session: str
    state: TraceState
    recognised: bool
    runs: Sequence[BaseRun]
    calls: Mapping[str, Sequence[BaseCall]] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    detectors: BaseWord | None = None
    words: Sequence[BaseWord] = ()
    exchange_words: Sequence[BaseWord] = ()
    whole_words: Sequence[BaseWord] = ()
    scored: frozenset[tuple[str, str]] = frozenset()
    findings: Sequence[BaseFinding] = ()
    behaviours: Mapping[str, Sequence[str]] = field(default_factory=dict)
    began: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = False
    behaviour: str = ""
    not_judged: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
