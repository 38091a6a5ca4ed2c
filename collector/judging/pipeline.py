"""How a subject is judged: five steps, the same for every judge.

    select   Selector.select   which judges look at which runs of a trace; every trace goes to the detectors
    ask      Judge.ask         detectors answer at once; the tasks of LLM judges wait in a queue
    gate     judges.evidence   within `ask`: a claim whose quote is not in its span's own text is no finding
    save     save_results      `compare` with what is stored; the judgement is stored last
    publish  save_results      tasks for the selected judges, metrics and listeners (webhooks, live pages)

Detectors: `detect.judge_traces.TraceJudge`, run by `detect.worker.DetectWorker`. LLM judges: `llm.run_judge.RunJudge`,
run by `llm.judge_worker.JudgeWorker`. Another judge is a `Judge` and a `Selector`, with a worker of its own if it asks
a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from tracejury.judges.verification import kept
from tracejury.schemas.errors import RetryableError, TracejuryError
from tracejury.schemas.findings import LIVE, Finding, FindingState
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedTrace, Judgement, LedgerEntries, LedgerKey, LedgerRecord

T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")

Elsewhere = Mapping[LedgerKey, LedgerRecord]
"""Entries of the ledger about the same runs, at other traces under which they showed before."""

NOTHING: Final[Elsewhere] = MappingProxyType({})


class NotYetError(RetryableError):
    """The subject follows from others that are still to be judged: nothing is wrong, and its turn comes."""


class Judge(Protocol[T_contra, R_co]):
    """Answers a task, such as an agent run at one revision."""

    def ask(self, task: T_contra) -> Iterable[R_co]:
        """The rows to save of each subject of the task, gated and compared with what is stored.

        Raises:
            OverBudgetError, RetryableError: it cannot be judged now.
            NotYetError: others come first.
        """


@dataclass(frozen=True, slots=True)
class Selection:
    """New rows of the ledger of a trace; `known_runs`: ids of the runs that had rows before."""

    rows: tuple[Judgement, ...] = ()
    known_runs: frozenset[str] = frozenset()


class Selector(Protocol):
    """Decides in the judging thread which runs of a trace a judge with a queue looks at."""

    def select(
        self, trace: Trace, findings: Sequence[Finding], ledger: LedgerEntries, now: int, elsewhere: Elsewhere = NOTHING
    ) -> Selection:
        """The new entries in the ledger of `trace`, whose detector findings are `findings`; updates `ledger`."""

    def withdraw(self, trace: Trace, whole: Trace, ledger: LedgerEntries, *, moved: bool) -> tuple[Judgement, ...]:
        """Rows that take back what stands at `trace`, whose runs show at `whole` now; updates `ledger`."""

    def enqueue(self, judged: Sequence[JudgedTrace]) -> None:
        """Queue what is pending in these traces, which are stored; never blocks for long."""


BY_ITS_JUDGE: Final = "Its judge has looked again, and does not report it any more."


@dataclass(frozen=True, slots=True)
class Change:
    """`findings`: all that now hold; `written`: those that differ from what is stored; `retracted`: those gone."""

    findings: tuple[Finding, ...]
    written: tuple[Finding, ...]
    retracted: tuple[Finding, ...]


def compare(
    found: Iterable[Finding],
    stored: Mapping[str, Finding],
    standing: FindingState,
    now: int,
    others: Iterable[Finding] = (),
    *,
    withdrawn: Callable[[Finding], str] = lambda _: BY_ITS_JUDGE,
) -> Change:
    """Give each finding its state and first sight, and retract the stored ones that no longer hold.

    A finding that was made again keeps what was said of it, unless somebody was asked about it now.

    `stored`: by id, the findings of the same judges in the same subject, of any state; `others`: those of other judges.
    `first_seen` is the fingerprint's earliest, whichever judge saw it, else `now`. `withdrawn`: why one is retracted.
    """
    first_seen: dict[str, int] = {}
    for old in (*stored.values(), *others):
        first_seen[old.fingerprint] = min(first_seen.get(old.fingerprint, old.first_seen), old.first_seen)
    findings = tuple(
        replace(kept(f, stored.get(f.id)), state=standing, first_seen=first_seen.get(f.fingerprint, now))
        for f in {f.id: f for f in found}.values()
    )
    ids = {f.id for f in findings}
    return Change(
        findings=findings,
        written=tuple(f for f in findings if stored.get(f.id) != f),
        retracted=tuple(
            replace(old, state=FindingState.RETRACTED, withdrawn=withdrawn(old))
            for old in stored.values()
            if old.id not in ids and old.state in LIVE
        ),
    )


def save_results(
    results: Sequence[R],
    save: Callable[[Sequence[R]], None],
    publish: Callable[[Sequence[R]], None],
    lost: Callable[[R, TracejuryError], None],
) -> None:
    """Store results in one insert and publish them; where the store refuses one for good, each alone.

    Raises:
        RetryableError: a passing failure; saving all of them again is safe.
    """
    if not results:
        return
    try:
        save(results)
    except RetryableError:
        raise
    except TracejuryError as error:
        if len(results) == 1:
            lost(results[0], error)
            return
        for result in results:
            save_results([result], save, publish, lost)
    else:
        publish(results)
