"""Small transcripts and cases written by hand, for tests of what judges are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from small_traces import TRACE_ID, Said, run, trace

from tracejury.judges.llm.case import Case, Stage
from tracejury.judges.llm.client import Prompt
from tracejury.schemas.findings import Finding
from tracejury.schemas.shown import shown
from tracejury.schemas.taxonomy import TRAIL, Dimension, Severity
from tracejury.schemas.transcript import Step, StepKind, Transcript


def indented(text: str) -> str:
    """Recorded text as a transcript holds it: neutralised, every line behind a space."""
    return "".join(f" {line}\n" for line in shown(text).split("\n"))


def step(number: int, text: str, kind: StepKind = StepKind.LLM) -> Step:
    """Step S<number> at span s<number>, one a turn."""
    label = f"S{number}"
    return Step(label, kind, f"s{number}", number - 1, f"{label} {kind}\n{indented(text)}", f"{label} {kind}: …")


def transcript(*texts: str, header: str = "Find it.", closing: str = "") -> Transcript:
    """A manager's transcript with a step a text."""
    steps = tuple(step(i, text) for i, text in enumerate(texts, 1))
    begin = f"Run, a manager.\nfirst message:\n{indented(header)}"
    return Transcript(TRACE_ID, "r1", "agent", "manager", begin, steps, closing)


def case(shown_run: Transcript, judges: Sequence[str], stage: Stage = Stage.CLOSING, **more: Any) -> Case:
    """A case of a run of two turns, with that transcript."""
    agent_run = run("r1", Said("s1", "one"), Said("s2", "two"), answer="42")
    return Case(trace(agent_run), agent_run, shown_run, tuple(judges), stage, **more)


def finding(span_id: str, evidence: str, explanation: str) -> Finding:
    """A finding of the tool-calling judge."""
    return Finding(
        id="f1",
        fingerprint="p1",
        tenant="",
        trace_id=TRACE_ID,
        span_id=span_id,
        agent_run_id="r1",
        turn=0,
        judge="tool-calling",
        dimensions=(Dimension.TOOL_CALLING, Dimension.EXECUTION_EFFICIENCY),
        taxonomy=TRAIL,
        category="Formatting Errors",
        severity=Severity.MEDIUM,
        confidence=0.8,
        evidence=evidence,
        explanation=explanation,
    )


def record_lines(prompt: Prompt) -> list[str]:
    """The lines between the fence, without it; fails where the fence does not stand exactly once around them."""
    lines = "".join(m.text for m in prompt.messages if m.role == "user").split("\n")
    begin = [i for i, line in enumerate(lines) if line.startswith("=== record ")]
    end = [i for i, line in enumerate(lines) if line.startswith("=== end of record ")]
    assert len(begin) == len(end) == 1
    assert lines[end[0]] == lines[begin[0]].replace("=== record", "=== end of record")
    return lines[begin[0] + 1 : end[0]]


def ours(prompt: Prompt) -> list[str]:
    """Those of them that start in the first column."""
    return [line for line in record_lines(prompt) if not line.startswith(" ")]
