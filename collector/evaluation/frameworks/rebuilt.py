"""A capture through the code of the collector: decoded, held open, normalised, rebuilt, judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tracejury.collector.judging.detect.inbox import by_trace
from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.groups import Request, schema_of
from tracejury.collector.otlp.codec.signals import SPANS, Encoding, Signal
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import Assembler, AssemblerConfig, TraceKey
from tracejury.processors.joining import groups_of, together
from tracejury.processors.life_cycle import state_at
from tracejury.processors.open_trace import OpenTrace, note_parents_elsewhere
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.batch import Batch
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import Kind
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState, Turn

_STEP = 1_000_000  # nanos between two requests


@dataclass(frozen=True, slots=True)
class RebuiltCapture:
    """The traces of a capture, the findings that a balanced reader sees in them, and what went wrong.

    `faults`: (measure, one line) for each span lost, crash and trace that stays open.
    """

    traces: tuple[Trace, ...]
    findings: tuple[Finding, ...]
    faults: tuple[tuple[str, str], ...]
    spans: int

    @property
    def llm_calls(self) -> int:
        """LLM calls, in agent runs and outside; there, what is right below another is a second record of it."""
        inside = sum(1 for t in self.traces for r in t.runs for turn in r.turns if turn.llm)
        for trace in self.traces:
            outside = {s.raw.span_id: s.raw.parent_span_id for s in trace.remainder if s.kind is Kind.LLM}
            inside += sum(1 for above in outside.values() if above not in outside)
        return inside

    def parent(self, trace: Trace, run: AgentRun) -> AgentRun | None:
        """The run that caused this one, perhaps in another trace."""
        if not run.parent_id:
            return None
        return next((r for t in (trace, *self.traces) for r in t.runs if r.id == run.parent_id), None)


def through_collector(requests: Iterable[Request], suite: Suite) -> RebuiltCapture:
    """The requests decoded, assembled, rebuilt and judged in this order, without transport and store."""
    batches, faults = decoded(requests)
    rebuilt = from_batches(batches, suite)
    return replace(rebuilt, faults=(*faults, *rebuilt.faults))


def decoded(requests: Iterable[Request]) -> tuple[list[Batch], list[tuple[str, str]]]:
    """The requests as they are stored, and a fault for each that was refused or that the decoder failed at."""
    batches: list[Batch] = []
    faults: list[tuple[str, str]] = []
    for at, request in enumerate(requests):
        signal = Signal.TRACES if schema_of(request) is SPANS else Signal.LOGS
        try:
            found = decode(signal, Encoding.PROTOBUF, request.SerializeToString(), received_at=1 + at * _STEP)
        except Exception as error:  # noqa: BLE001 - a crash is one of the things that are counted here
            faults.append(("crash", f"a request: {type(error).__name__}: {error}"[:300]))
            continue
        batches.append(found.batch)
        faults += [("lost", f"{found.rejected} items refused: {found.message}")] if found.rejected else []
    return batches, faults


def from_batches(batches: Iterable[Batch], suite: Suite) -> RebuiltCapture:
    """What the spans and log records of these batches show, taken in in this order."""
    assembler = Assembler()
    keys: dict[TraceKey, set[str]] = {}
    faults: list[tuple[str, str]] = []
    now = 1
    for batch in batches:
        for key, arrived in by_trace(batch).items():
            keys.setdefault(key, set()).update(s.span_id for s in arrived.spans)
            try:
                assembler.add(key, arrived.spans, arrived.logs, now, now)
            except Exception as error:  # noqa: BLE001 - a crash is one of the things that are counted here
                faults.append(("crash", f"a batch: {type(error).__name__}: {error}"[:300]))
        now += _STEP
    traces: list[Trace] = []
    findings: list[Finding] = []
    held = {key: trace for key in keys if (trace := assembler.get(key)) is not None and trace.spans}
    faults += [("lost", f"trace {key[1]} is not held") for key, sent in keys.items() if sent and key not in held]
    for members in _groups(held):
        whole, found, wrong = _close(assembler, members, sum(len(keys[m.key]) for m in members), now, suite)
        faults += wrong
        if whole is not None:
            traces.append(whole)
            findings += found
    traces.sort(key=lambda t: (t.start, t.trace_id))
    return RebuiltCapture(tuple(traces), tuple(findings), tuple(faults), sum(map(len, keys.values())))


def _groups(held: Mapping[TraceKey, OpenTrace]) -> Iterator[list[OpenTrace]]:
    """Traces that are one, as the collector joins them."""
    by_id = {key[1]: trace for key, trace in held.items()}
    note_parents_elsewhere(list(by_id.values()))
    for ids in groups_of({i: list(trace.spans.values()) for i, trace in by_id.items()}):
        yield [by_id[i] for i in ids]


def _close(
    assembler: Assembler, members: Sequence[OpenTrace], sent: int, now: int, suite: Suite
) -> tuple[Trace | None, tuple[Finding, ...], list[tuple[str, str]]]:
    """Traces that are one, once they are quiet for as long as the collector would wait."""
    config: AssemblerConfig = assembler.config
    key = members[0].key
    state = together(state_at(trace, now + max(config.quiet, config.rootless), config) for trace in members)
    faults = [("open", f"trace {key[1]} never settles")] if state is TraceState.OPEN else []
    try:
        spans = [span for member in members for span in member.spans.values()]
        trace = rebuild(spans, state=state, elsewhere={parent for member in members for parent in member.elsewhere})
        result = suite.judge(trace)
    except Exception as error:  # noqa: BLE001 - a crash is one of the things that are counted here
        return None, (), [*faults, ("crash", f"trace {key[1]}: {type(error).__name__}: {error}"[:300])]
    faults += [("crash", f"{name}: {why}") for name, why in result.failures]
    faults += [("lost", f"span {i} of trace {key[1]} {why}") for i, why in misplaced(trace).items()]
    if len(trace.spans) != sent:
        faults.append(("lost", f"trace {key[1]} has {len(trace.spans)} of {sent} spans"))
    shown = tuple(f for f in result.findings if f.confidence >= threshold("balanced"))
    return trace, shown, faults


def misplaced(trace: Trace) -> dict[str, str]:
    """LLM and tool spans that stand nowhere, and any span that stands in two places, with which of the two it is."""
    places = [s.span_id for s in trace.remainder]
    places += [i for run in trace.runs for turn in run.turns for i in spans_of(turn)]
    wrong = {i: "stands twice" for i in places if places.count(i) > 1}
    acts = {i for i, s in trace.spans.items() if s.kind in {Kind.LLM, Kind.TOOL}}
    return wrong | dict.fromkeys(acts.difference(places), "stands nowhere")


def spans_of(turn: Turn) -> list[str]:
    """Ids of the spans of a turn: its call, its tools' and what is around them."""
    found = [turn.llm.span_id] if turn.llm else []
    found += [c.span.span_id for c in turn.tool_calls if c.span]
    return found + [w.span_id for w in turn.wrappers]
