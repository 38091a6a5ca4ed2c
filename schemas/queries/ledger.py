"""Queries of the ledger of LLM judges, and the reason why a trace has no score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import DETECTORS, Outcome, Verdict

from .reader import Position

_SWITCH_ON: Final = "switch them on with `tracejury serve --model …` or in the configuration, section judges"


@dataclass(frozen=True, slots=True)
class JudgesStatus:
    """The status of the LLM judges. `caps`: by name, such as `usd_per_day`; those of all services together.

    `pending`: runs, exchanges, sessions and traces that wait, `in_flight`: that are before the judges just now.
    `trouble`: one line on why they do not work, although a model is configured. `failing`: why the latest call brought
    nothing; "" once one did. `missing_keys`: keys of models that the environment lacks; "" once a call was answered.
    `stopped`: the cap that kept the latest refused call from being sent, until its hour or day ends. `over_budget`:
    runs, exchanges and sessions that a cap kept from being judged and that are to be caught up. `elsewhere`: other
    processes judge, and what they have in hand is not known here.
    """

    on: bool = False
    model: str = ""
    caps: Mapping[str, float] = field(default_factory=dict)
    pending: int = 0
    in_flight: int = 0
    trouble: str = ""
    failing: str = ""
    missing_keys: str = ""
    stopped: str = ""
    over_budget: int = 0
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class LedgerQuery:
    """Last words of judges, latest first. `since`: unix nanos, of the word; empty fields do not filter.

    Unless `everything`, superseded windows are left out, and so is what detectors said of traces, where neither a trace
    nor a judge is named.
    """

    limit: int
    trace_id: str = ""
    judge: str = ""
    outcome: Outcome | None = None
    service: str = ""
    since: int = 0
    everything: bool = False
    before: Position | None = None


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A word with where it belongs ("" unknown) and the verdict that stands, if any; `id` its place among equals.

    `session_id`: of a session of several traces, which has no trace.
    """

    word: LedgerRow
    id: str
    service: str = ""
    agent: str = ""
    verdict: Verdict | None = None
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class JudgedState:
    """The state of a trace when the detectors judged it; `not_judged`: why they could not, None where they could."""

    state: TraceState
    runs: int
    not_judged: NotJudged | None = None


def why_unscored(
    words: Sequence[LedgerRow], judged: JudgedState | None, status: JudgesStatus, trace_id: str
) -> str | None:
    """One line on why LLM judges have not said anything of a trace, or will not; None where the words tell.

    `words`: all that stand of the trace; `judged`: None where it was not judged at all.
    """
    of_judges = [word for word in words if word.judge != DETECTORS]
    working = status.elsewhere or (status.on and not status.trouble)
    if of_judges and (working or all(word.outcome is not Outcome.PENDING for word in of_judges)):
        return None
    for true, why in (
        (status.trouble, f"the LLM judges do not work: {status.trouble}"),
        (bool(of_judges), f"judges are still to look at it, and this collector has none: {_SWITCH_ON}"),
        (judged is None, "it has just come and was not judged at all yet"),
        (not status.on and not status.elsewhere, f"no LLM judge is switched on: {_SWITCH_ON}"),
        (judged and not judged.runs, "no agent run was recognised in it, and LLM judges look at agent runs"),
        (
            judged and judged.state is TraceState.OPEN,
            "it has not settled yet: judges score an agent run when it is over",
        ),
    ):
        if true:
            return why
    return f"it was stored before the judges were switched on: `tracejury judge --trace {trace_id}` has it judged"
