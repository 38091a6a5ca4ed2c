"""The records of the built-in rules: `python tests/support/rule_evidence.py > judges/records.toml`.

Labelled steps of other agents, the failures that were built into the captures of frameworks, and faults injected into
healthy captures and into generated runs of code agents. All are made anew from the shared data with the rules as they
are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from captured_faults import LLM, TOOL, Traces, changed, failed, joined, limited, reworded, step_of, with_fault
from code_harnesses import HARNESSES
from fault_kinds import CODE_FAULTS, ENDINGS, FAULTS, MODEL_FAULTS
from omitted_calls import ANNOUNCEMENTS, LOOKUPS, PRINTING, omissions, written_and_called, written_down
from trajectories import FRAMEWORKS, SHARED, load

from tracejury.collector.evaluation.frameworks import capture
from tracejury.collector.evaluation.frameworks.rebuilt import spans_of
from tracejury.collector.evaluation.steps_run import evaluate_steps
from tracejury.collector.judging.detect.direct import stored
from tracejury.judges.measures.rule_cases import cases as error_cases
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace

LABELLED: Final = ("trail/gaia-dev", "steps/agentrx-magentic", "steps/agentrx-tau", "steps/tau-ok")
"""Data sets in which people marked every error that they saw. Where only the decisive one is marked, no claim is wrong
for being unmarked."""

SUITE: Final = suite_of(())

Evidence = dict[str, dict[str, tuple[int, int, set[str]]]]
"""Cases in which a rule was right, all its cases, and the agents, by rule and data set."""


def measured() -> Evidence:
    """All records. Takes about two minutes."""
    found: Evidence = defaultdict(dict)
    for rule, rows in evaluate_steps([SHARED / name for name in LABELLED]).rules.items():
        for name, record in rows.items():
            found[rule][name] = (record.right, record.claims, set(record.agents))
    for name, cases in (("captures", _captures()), ("injected", _injected())):
        for rule, agent, right in cases:
            k, n, agents = found[rule].get(name, (0, 0, set()))
            found[rule][name] = (k + right, n + 1, agents | {agent})
    return found


Case = tuple[str, str, bool]
"""An error that a rule saw: the rule, the agent, whether one of its findings there is at the fault."""


def _captures() -> Iterator[Case]:
    """Errors in captures with built-in failures, right in a turn that holds a span of one."""
    for one in capture.load(capture.paths(FRAMEWORKS, "")):
        label = one.id.split("/")[0]
        received = stored(one.requests)
        for trace in received.traces():
            wrong = {i for failure in one.truth.failures for i in failure.span_ids}
            wrong |= {i for run in trace.runs for t in run.turns if wrong & set(spans_of(t)) for i in spans_of(t)}
            for found in _cases([trace]):
                yield found[0].judge, label, _touches(found, wrong)


def _injected() -> Iterator[Case]:
    """Errors that a fault brings about, right at the step or run that it was injected into."""
    for label in sorted(p.parent.name for p in FRAMEWORKS.glob("*/S1.zip")):
        healthy = load(FRAMEWORKS / label / "S1.zip")
        for faulty, spans in (*_failed_calls(healthy), *_failed_runs(healthy), *_limited_runs(healthy)):
            yield from _brought(label, healthy, faulty, spans)
    yield from _omitted()
    for name, harness in HARNESSES.items():
        for fault in CODE_FAULTS:
            for found in _cases([harness(fault.steps, fault.answer)]):
                yield found[0].judge, name, _stands(found, fault.spans)


def _omitted() -> Iterator[Case]:
    """Errors that a call which was only written down brings about, wrong in its look-alikes."""
    for number, label in enumerate(sorted(p.parent.name for p in FRAMEWORKS.glob("*/S1.zip"))):
        healthy = load(FRAMEWORKS / label / "S1.zip")
        step = step_of(healthy)
        if step is None or step.turn.llm is None:
            continue
        for other, wrong in omissions(healthy, step, number):
            yield from _brought(label, healthy, other, {step.turn.llm.span_id} if wrong else set())
    for name in LOOKUPS:
        for text in ANNOUNCEMENTS:
            for found in _cases([written_down(name, text, *PRINTING[:2])]):
                yield found[0].judge, f"code agent with {name}", _stands(found, {"a0", "a1"})
            for found in _cases([written_and_called(name, text)]):
                yield found[0].judge, f"code agent with {name}", False


def _failed_calls(healthy: Traces) -> Iterator[tuple[Traces, set[str]]]:
    """The traces with a call of a tool or model that failed, and its spans."""
    step = step_of(healthy)
    if step is None or step.turn.llm is None:
        return
    for fault in FAULTS.values():
        if fault.told is not None or step.sent:
            yield with_fault(healthy, step, fault), {LLM, TOOL}
    at = step.turn.llm.span_id
    for message in MODEL_FAULTS:
        yield changed(healthy, at, partial(failed, error=message)), {at}
    yield changed(healthy, at, lambda span: replace(span, finish_reasons=("length",))), {at}


def _failed_runs(healthy: Traces) -> Iterator[tuple[Traces, set[str]]]:
    """The traces with a manager that failed or said nothing in the end, and its spans."""
    manager = next((r for t in joined(healthy) for r in t.runs if not r.parent_id and r.span is not None), None)
    if manager is not None and manager.span is not None:
        for message in ENDINGS:
            yield changed(healthy, manager.span.span_id, partial(failed, error=message)), {manager.span.span_id}
        if manager.answer:
            last = {i for turn in manager.turns[-1:] for i in spans_of(turn)}
            yield reworded(healthy, {manager.answer: ""}), {*last, manager.span.span_id}


def _limited_runs(healthy: Traces) -> Iterator[tuple[Traces, set[str]]]:
    """The traces with a manager at its step limit; and with one that has steps left, where no error is right."""
    for closing in (True, False):
        for spare in (0, 1, 5) if closing else (0,):
            made = limited(healthy, closing=closing, spare=spare)
            if made is not None:
                yield made[0], set() if spare else set(made[1])


def _brought(label: str, healthy: Traces, faulty: Traces, spans: set[str]) -> Iterator[Case]:
    before = {(f.judge, f.span_id) for found in _cases(joined(healthy)) for f in found}
    for found in _cases(joined(faulty)):
        if brought := [f for f in found if (f.judge, f.span_id) not in before]:
            yield found[0].judge, label, _touches(brought, spans)


def _cases(rebuilt: Iterable[Trace]) -> Iterator[list[Finding]]:
    for trace in rebuilt:
        yield from error_cases(SUITE.judge(trace).findings, trace.runs)


def _stands(found: Iterable[Finding], spans: Collection[str]) -> bool:
    return any(f.span_id in spans for f in found)


def _touches(found: Iterable[Finding], spans: Collection[str]) -> bool:
    """Whether a finding stands at one of these, or is about a call at one."""
    return any(f.span_id in spans or f.tool_span_id in spans for f in found)


def written(found: Mapping[str, Mapping[str, tuple[int, int, set[str]]]]) -> str:
    """The text of records.toml."""
    lines = [
        "# Records of the built-in rules, made by `python tests/support/rule_evidence.py`: of `claims` errors that a",
        "# rule saw, in `right` one of its findings was at a labelled step or a fault, over so many `agents`.",
    ]
    for rule, rows in sorted(found.items()):
        lines.append(f"\n[{rule}]")
        for name, (right, claims, agents) in sorted(rows.items()):
            lines.append(f"{name} = {{ right = {right}, claims = {claims}, agents = {len(agents)} }}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(written(measured()), end="")  # noqa: T201  its output is the file
