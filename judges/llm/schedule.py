"""When a run is judged while its trace is still open."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, Exchange, Trace, TraceState, Turn

SECOND: Final = 1_000_000_000
CHARACTERS_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class WindowRules:
    """When a window closes.

    After `turns` newly closed turns, `seconds` after the first of them, at `tokens` of their text (estimated), or, from
    half of `turns` on, at a detector's finding of at least `severity` in them.
    """

    turns: int = 5
    seconds: float = 60.0
    tokens: int = 8000
    severity: Severity = Severity.HIGH


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run's windows have come.

    `turns` closed turns were put before the judges in windows, `plans` planning turns by themselves; `since`: unix
    nanos when the first turn after the last window was seen, 0 for none.
    """

    turns: int = 0
    since: int = 0
    plans: int = 0


def is_over(trace: Trace, run: AgentRun) -> bool:
    """Whether the run can have its closing pass: a sub-agent whose own span has ended, anybody once the trace settles.

    A manager waits for the trace to settle: what its goal came to stands only then.
    """
    if trace.state is not TraceState.OPEN:
        return True
    return bool(run.parent_id) and run.span is not None and not run.span.raw.pending


def closed_turns(run: AgentRun) -> Sequence[Turn]:
    """The turns up to the first that is still open."""
    for at, turn in enumerate(run.turns):
        if not turn.closed:
            return run.turns[:at]
    return run.turns


def window_due(run: AgentRun, progress: RunProgress, findings: Iterable[Finding], now: int, rules: WindowRules) -> bool:
    """Whether the turns that closed since the last window should be judged now. `findings`: the detectors'."""
    new = closed_turns(run)[progress.turns :]
    if not new:
        return False
    if len(new) >= rules.turns or (progress.since and now - progress.since >= rules.seconds * SECOND):
        return True
    if sum(map(_characters, new)) >= rules.tokens * CHARACTERS_PER_TOKEN:
        return True
    if 2 * len(new) < rules.turns:
        return False
    indices = {turn.index for turn in new}
    return any(
        f.agent_run_id == run.id and f.turn in indices and f.severity.rank >= rules.severity.rank for f in findings
    )


def new_plans(run: AgentRun, progress: RunProgress) -> tuple[int, ...]:
    """Indices of the planning turns that closed since the last window, none where all of them were judged by then."""
    closed = closed_turns(run)
    plans = set(run.plans)
    if sum(turn.index in plans for turn in closed) <= progress.plans:
        return ()
    return tuple(turn.index for turn in closed[progress.turns :] if turn.index in plans)


def judged_so_far(run: AgentRun) -> RunProgress:
    """The progress of a run whose closed turns were all judged."""
    closed = closed_turns(run)
    return RunProgress(turns=len(closed), plans=sum(turn.index in set(run.plans) for turn in closed))


def _characters(turn: Turn) -> int:
    said = len(turn.text) + sum(len(m.text) for m in turn.new_messages)
    return said + sum(len(call.result or "") for call in turn.tool_calls)


def content_hash(trace: Trace, run: AgentRun) -> str:
    """Hash of what a closing pass over the run looks at, without rendering it (32 hex digits).

    Its spans told by end, status and size, the answers of its sub-agents, and, for a manager, the trace's state.
    """
    digest = hashlib.blake2b(f"{run.id} {run.status} {len(run.goal)} {run.answer}".encode(errors="replace"))
    digest.update(str(trace.state if not run.parent_id else "").encode())
    _add_turns(digest, trace, run.turns)
    return digest.hexdigest()[:32]


def exchange_hash(trace: Trace, run: AgentRun | None, exchange: Exchange) -> str:
    """The same of one exchange of the run; of what stands before it, nothing."""
    digest = hashlib.blake2b(f"{exchange.id} {exchange.asked}\n{exchange.answer}".encode(errors="replace"))
    if run is not None:
        _add_turns(digest, trace, run.turns[max(exchange.first, 0) : exchange.last + 1])
    return digest.hexdigest()[:32]


def ended_exchanges(trace: Trace) -> tuple[Exchange, ...]:
    """The exchanges that are over: a later one of their run has begun, or the trace has settled."""
    if trace.state is not TraceState.OPEN:
        return trace.exchanges
    latest = {exchange.run_id: exchange for exchange in trace.exchanges}
    return tuple(exchange for exchange in trace.exchanges if latest[exchange.run_id] is not exchange)


def _add_turns(digest: hashlib.blake2b, trace: Trace, turns: Iterable[Turn]) -> None:
    for turn in turns:
        spans = (turn.llm, *(c.span for c in turn.tool_calls), *turn.wrappers)
        for span in spans:
            if span is not None:
                raw = span.raw
                size = sum(map(len, raw.attributes.values())) + sum(len(e.name) + len(e.attributes) for e in raw.events)
                digest.update(f"{raw.span_id} {raw.end} {raw.pending} {raw.status_code} {size};".encode())
                digest.update(str(sum(map(len, span.log_text))).encode())
        for below in turn.sub_run_ids:
            other = trace.run(below)
            if other is not None:
                digest.update(f"{below} {other.status} {other.answer}".encode(errors="replace"))
