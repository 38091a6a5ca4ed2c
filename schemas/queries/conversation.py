"""A session read as a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.findings import Finding
from tracejury.schemas.trace_status import TraceStatus, status_of
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Verdict

from .listing import SessionRow
from .reader import LocatedError


@dataclass(frozen=True, slots=True)
class SessionExchange:
    """A user's message and the agents' answer (see `trajectory.Exchange`), with what hangs on its trace.

    `findings`, `errors` (the worst first) and `verdicts`: of the run and the runs below it; of the whole trace at its
    first exchange. `agents`: the name of each of these runs by its id. `judged`: whether a judge looked at the trace;
    before, its runs and messages are not known. `usd` and `calls_without_usage`, by which it is a partial sum: of the
    whole trace at its first exchange. `first_turn`, `last_turn`: of its run, where it begins and ends.
    """

    trace_id: str
    run_id: str
    agent: str
    goal: str
    answer: str
    status: str
    state: TraceState
    start: int
    end: int
    turns: int
    usd: float | None
    findings: Sequence[Finding] = ()
    errors: Sequence[LocatedError] = ()
    verdicts: Sequence[Verdict] = ()
    agents: Mapping[str, str] = field(default_factory=dict)
    judged: bool = True
    first_turn: int = 0
    last_turn: int = -1
    calls_without_usage: int = 0

    @property
    def id(self) -> str:
        """As of `trajectory.Exchange`."""
        return f"{self.run_id}:{min(self.first_turn, self.last_turn)}-{self.last_turn}"

    @property
    def trace_status(self) -> TraceStatus:
        """How its trace stands, for people."""
        return status_of(self.state, not self.judged)


@dataclass(frozen=True, slots=True)
class ItemProgress:
    """The last answer to an item that settles. `exchange`: number of the one that settled it, from 1.

    None where none did: the item is open, or the close settled it.
    """

    answer: ItemAnswer
    exchange: int | None


@dataclass(frozen=True, slots=True)
class CheckProgress:
    """How far the items of a check came to settle at their best answer in a session.

    `judge`, `title`: of the check; `kind`: its items, such as notes; `after`: the share that was settled at the end of
    each exchange; `closed`: whether the session closed, so that nothing else follows.
    """

    judge: str
    title: str
    kind: str
    items: Sequence[ItemProgress]
    after: Sequence[float]
    closed: bool

    @property
    def settled(self) -> int:
        """How many items are settled."""
        return sum(one.answer.best and one.answer.grounded for one in self.items)


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session with its conversation in order of time. `left`: traces that came later and are not shown.

    `verdicts`: on the session as a whole, its measures; `progress`: of checks whose items settle, none where several
    services have a session of the id.
    """

    session: SessionRow
    services: Sequence[str]
    exchanges: Sequence[SessionExchange]
    left: int = 0
    verdicts: Sequence[Verdict] = ()
    progress: Sequence[CheckProgress] = ()
