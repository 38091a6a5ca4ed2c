"""Shapes of telemetry made after public reports: request bodies through the collector's code, and what they give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trajectories import SHARED

from tracejury.collector.evaluation.frameworks.rebuilt import RebuiltCapture, from_batches
from tracejury.collector.judging.prices.spent import SpentBy
from tracejury.collector.judging.prices.table import PriceTable
from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.judges.registry import default_suite
from tracejury.processors.tokens import sum_tokens
from tracejury.schemas.batch import Batch
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import Kind
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, TurnKind

SHAPES = SHARED / "shapes"
REPORTS = SHAPES / "reports"

_CALLS = {Kind.LLM, Kind.TOOL, Kind.RETRIEVER}
_SUITE = default_suite()
_SPENT = SpentBy(PriceTable())

AnyOf = tuple[Any, ...]
"""Equally right values; () for any."""


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A tool call: `turn` its turn's index (None: any), `arguments` () for any.

    `result`, `error`: text that stands in it; `error` "" for a call that must not have failed. `has_span`,
    `requested`: None where either is right.
    """

    name: str
    arguments: AnyOf = ()
    result: str = ""
    error: str = ""
    turn: int | None = None
    has_span: bool | None = None
    requested: bool | None = None


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """An agent run; `turns`: right numbers of its LLM calls, `parent` the name of the run above ("" for a manager).

    `goal`, `answer`: text that stands in it, None where any is right; "=TEXT" for the whole text. `texts`: of its
    turns. `closing`: names of calls that may stand in it, too.
    """

    names: AnyOf = ()
    turns: AnyOf = ()
    calls: tuple[ExpectedCall, ...] = ()
    goal: str | None = None
    answer: str | None = None
    parent: str = ""
    status: AnyOf = ()
    texts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedShape:
    """One shape: its bodies in order, and what it shows; `tokens`: right (input, output) pairs.

    `errors`: for each error to be found, the ids' ends of the spans at which it is right. Without any, what is found
    must be LOW, but for what the judges in `allowed` say (None: whatever it is). `at_home`: names of plain spans that
    belong to a run. `outside`: whether calls may stay outside of runs. `unread`: why it does not come out yet.
    """

    name: str
    files: tuple[str, ...]
    runs: tuple[ExpectedRun, ...] = ()
    tokens: AnyOf = ()
    usd: float | None = None
    llm_calls: int | None = None
    session: str | None = None
    errors: tuple[tuple[str, ...], ...] = ()
    allowed: tuple[str, ...] | None = ()
    at_home: tuple[str, ...] = ()
    outside: bool = False
    refused: int = 0
    unread: str = ""


def report_files(folder: str, *numbers: int, signal: str = "traces") -> tuple[str, ...]:
    """Names of a report's bodies."""
    return tuple(f"reports/{folder}/{number:02}.{signal}.json" for number in numbers)


def variants(shape: ExpectedShape, folder: str, variants: Iterable[tuple[str, int]]) -> tuple[ExpectedShape, ...]:
    """The same expectation of several variants, a body each."""
    return tuple(replace(shape, name=f"{shape.name}, {name}", files=report_files(folder, at)) for name, at in variants)


def bodies(shape: ExpectedShape) -> Iterator[tuple[Signal, bytes]]:
    """The shape's request bodies with their signals."""
    for name in shape.files:
        path: Path = SHAPES / name
        yield (Signal.LOGS if ".logs." in path.name else Signal.TRACES), path.read_bytes()


def through_json(sent: Iterable[tuple[Signal, bytes]]) -> tuple[RebuiltCapture, int]:
    """What the bodies show, and how many of their items were refused."""
    batches: list[Batch] = []
    refused = 0
    for at, (signal, body) in enumerate(sent):
        read = decode(signal, Encoding.JSON, body, received_at=at + 1)
        batches.append(read.batch)
        refused += read.rejected
    return from_batches(batches, _SUITE), refused


def differences(shape: ExpectedShape) -> list[str]:
    """In what the rebuilt shape differs from the expected one, a line each."""
    rebuilt, refused = through_json(bodies(shape))
    found = [f"{what}: {why}" for what, why in rebuilt.faults]
    if refused != shape.refused:
        found.append(f"{refused} items refused, not {shape.refused}")
    found += _run_differences(shape, rebuilt)
    found += _sums(shape, rebuilt.traces)
    found += _places(shape, rebuilt.traces)
    found += _errors(shape, rebuilt.findings)
    return found


def _run_differences(shape: ExpectedShape, rebuilt: RebuiltCapture) -> Iterator[str]:
    pairs = [(trace, run) for trace in rebuilt.traces for run in trace.runs]
    if not shape.runs:
        return
    if len(pairs) < len(shape.runs) or (len(pairs) > len(shape.runs) and not shape.outside):
        yield f"{len(pairs)} runs {[run.name for _, run in pairs]}, not {len(shape.runs)}"
        return
    for expected in shape.runs:
        tries = [(list(_run(expected, rebuilt, trace, run)), (trace, run)) for trace, run in pairs]
        best, taken = min(tries, key=lambda tried: len(tried[0]))
        pairs.remove(taken)
        yield from best


def _run(expected: ExpectedRun, rebuilt: RebuiltCapture, trace: Trace, run: AgentRun) -> Iterator[str]:
    who = run.name or "a run without a name"
    if not _any(expected.names, run.name):
        yield f"run is called {run.name!r}, not {expected.names}"
    above = rebuilt.parent(trace, run)
    if bool(expected.parent) != bool(above) or (above and expected.parent not in {above.name, "?"}):
        yield f"{who} is below {above.name if above else 'nobody'}, not {expected.parent or 'nobody'}"
    turns = [turn for turn in run.turns if turn.llm is not None and turn.kind is not TurnKind.INNER]
    if not _any(expected.turns, len(turns)):
        yield f"{who} has {len(turns)} turns, not {expected.turns}"
    if not _any(expected.status, run.status):
        yield f"{who} is {run.status}, not {expected.status}"
    if expected.texts and tuple(turn.text for turn in turns) != expected.texts:
        yield f"{who} says {[turn.text for turn in turns]}"
    for what, want, got in (("goal", expected.goal, run.goal), ("answer", expected.answer, run.answer)):
        if want is not None and not (got == want[1:] if want.startswith("=") else want in got if want else not got):
            yield f"{what} of {who} is {got[:200]!r}, not {want!r}"
    if missing := set(expected.tools) - {tool.name for tool in run.tools}:
        yield f"{who} has no definition of {missing}"
    yield from (f"{who}: {why}" for why in _calls(expected, run))


def _calls(expected: ExpectedRun, run: AgentRun) -> Iterator[str]:
    wanted = {call.name for call in expected.calls}
    calls = [(at, call) for at, turn in enumerate(run.turns) for call in turn.tool_calls]
    calls = [(at, c) for at, c in calls if c.name in wanted or not (c.closing or c.name in expected.closing)]
    if [call.name for _, call in calls] != [call.name for call in expected.calls]:
        yield f"calls {[call.name for _, call in calls]}, not {[call.name for call in expected.calls]}"
        return
    for want_call, (at, call) in zip(expected.calls, calls, strict=True):
        yield from (f"{call.name}: {why}" for why in _call(want_call, at, call))


def _call(expected: ExpectedCall, turn: int, call: ToolCall) -> Iterator[str]:
    if not _any(expected.arguments, call.arguments):
        yield f"arguments {call.arguments!r}, not {expected.arguments}"
    if expected.result not in (call.result or ""):
        yield f"result {call.result!r}, not {expected.result!r}"
    if expected.error not in (call.error or "") or (not expected.error and call.error is not None):
        yield f"error {call.error!r}, not {expected.error!r}"
    if expected.turn is not None and expected.turn != turn:
        yield f"in turn {turn}, not {expected.turn}"
    if expected.has_span is not None and expected.has_span != (call.span is not None):
        yield "has no span" if expected.has_span else "has a span"
    if expected.requested is not None and expected.requested is not call.requested:
        yield f"requested {call.requested}, not {expected.requested}"
    if (expected.result or expected.error) and call.executed is not True:
        yield f"executed {call.executed}"


def _sums(shape: ExpectedShape, traces: Iterable[Trace]) -> Iterator[str]:
    spent = [_SPENT(trace) for trace in traces]
    tokens = tuple(sum(getattr(s, part) or 0 for s in spent) for part in ("input_tokens", "output_tokens"))
    if not _any(shape.tokens, tokens):
        yield f"tokens {tokens}, not {shape.tokens}"
    usd = sum(s.usd or 0 for s in spent)
    if shape.usd is not None and abs(usd - shape.usd) > 0.0001:
        yield f"{usd:.5f} USD, not {shape.usd}"
    calls = sum(sum_tokens(trace.spans).calls for trace in traces)
    if shape.llm_calls is not None and shape.llm_calls != calls:
        yield f"{calls} LLM calls, not {shape.llm_calls}"
    if shape.session is not None:
        sessions = {trace.session_id for trace in traces}
        if sessions != {shape.session}:
            yield f"sessions {sessions}, not {shape.session!r}"


def _places(shape: ExpectedShape, traces: Iterable[Trace]) -> Iterator[str]:
    for trace in traces:
        for span in trace.remainder:
            if span.raw.name in shape.at_home or (span.kind in _CALLS and not shape.outside):
                yield f"{span.kind.value} {span.raw.name} is outside of the runs"


def _errors(shape: ExpectedShape, findings: Iterable[Finding]) -> Iterator[str]:
    found = [f for f in findings if f.severity is not Severity.LOW]
    told = [f"{f.judge} at {f.span_id[-6:]}" for f in findings]
    for ends in shape.errors:
        places = (place for f in findings for place in (f.span_id, f.tool_span_id, *f.also_at))
        if not any(place.endswith(ends) for place in places if place):
            yield f"no error at {' or '.join(ends)}: {told}"
    if not shape.errors and shape.allowed is not None:
        yield from (f"an error that is none: {f.judge}" for f in found if f.judge not in shape.allowed)


def _any(right: AnyOf, got: object) -> bool:
    return not right or got in right
