"""What transcripts cost and keep: tokens beside other views, annotated evidence that can be quoted.

    python tests/bench/transcripts.py ../shared/data/trail/gaia-dev [MODEL]

Tokens are counted by litellm for MODEL (default gpt-4o). Evidence: of the annotated errors, how many have a step at
the annotated span; the beginning of how many quotes stands in the trace at all (the others are the annotator's words),
in that step, in it or a step that it refers to ("= S4"), and in any step.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm
from trajectories import load
from transcribed import loose, text_of

from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import plan_views, transcribe
from tracejury.processors.transcript.paper import paper_view
from tracejury.processors.transcript.views import raw_view
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import PlanView, Transcript

QUOTED = 40
"""Characters of an annotation's evidence that are looked for: annotators shorten and join what follows."""

REFERENCE = re.compile(r"^(?:= |[a-z].*: = )(.+)$", re.MULTILINE)
LABEL = re.compile(r"\bS\d+\b")


def coverage(trace: Trace, transcripts: Iterable[Transcript], errors: list[dict[str, str]]) -> Counter[str]:
    """Counts over one trace's annotated errors."""
    steps: dict[str, str] = {}
    referred: dict[str, str] = {}
    whole = ""
    for transcript in transcripts:
        texts = {step.label: loose(step.text) for step in transcript.steps}
        for step in transcript.steps:
            steps[step.span_id] = steps.get(step.span_id, "") + texts[step.label]
            labels = {label for line in REFERENCE.findall(step.text) for label in LABEL.findall(line)}
            named = "".join(texts.get(label, "") for label in labels)
            referred[step.span_id] = referred.get(step.span_id, "") + texts[step.label] + named
        whole += loose(text_of(transcript))
    recorded = loose(paper_view(trace)) + loose(raw_view(trace))
    found: Counter[str] = Counter()
    for error in errors:
        evidence = loose(error["evidence"])[:QUOTED] or "?"
        place = error["location"]
        found["errors"] += 1
        found["with a step at their span"] += place in steps
        found["quoted from the trace"] += evidence in recorded
        found["in that step"] += evidence in steps.get(place, "")
        found["in it or a step it refers to"] += evidence in referred.get(place, "")
        found["in any step"] += evidence in whole
    return found


def row(title: str, values: list[int]) -> None:
    """Mean, median, most and sum."""
    print(f"{title:18}{statistics.mean(values):10.0f}{statistics.median(values):10.0f}{max(values):10}{sum(values):12}")


def main(folder: Path, model: str) -> None:
    """Prints the figures of a folder of traces and annotations."""
    count: Callable[[str], int] = lambda text: litellm.token_counter(model=model, text=text)  # noqa: E731 - one use
    traces = [rebuild(spans) for f in sorted((folder / "traces").iterdir()) for spans in load(f).values()]
    tokens: dict[str, list[int]] = {name: [] for name in ("raw", "paper", "ours", "plan views", "a plan", "a re-plan")}
    found: Counter[str] = Counter()
    spent = 0.0
    for trace in traces:
        began = process_time()
        transcripts = [transcribe(trace, run) for run in trace.runs]
        spent += process_time() - began
        views = [v for r, t in zip(trace.runs, transcripts, strict=True) for v in plan_views(r, t)]
        sizes: list[tuple[PlanView, int]] = [(view, count(text_of(view.transcript))) for view in views]
        tokens["raw"].append(count(raw_view(trace)))
        tokens["paper"].append(count(paper_view(trace)))
        tokens["ours"].append(sum(count(text_of(t)) for t in transcripts))
        tokens["plan views"].append(sum(size for _, size in sizes))
        tokens["a plan"] += [size for view, size in sizes if not view.replan]
        tokens["a re-plan"] += [size for view, size in sizes if view.replan]
        annotated = folder / "annotations" / f"{trace.trace_id}.json"
        if annotated.exists():
            found += coverage(trace, transcripts, json.loads(annotated.read_text())["errors"])
    print(f"{'tokens':18}{'mean':>10}{'median':>10}{'most':>10}{'sum':>12}   ({len(traces)} traces, {model})")
    for name, values in tokens.items():
        if values:
            row(name, values)
    for name in ("ours", "plan views"):
        print(f"{name}: {sum(tokens[name]) / sum(tokens['paper']):.3f} of the paper's tokens")
    print(", ".join(f"{name} {number}" for name, number in found.items()))
    runs = sum(len(t.runs) for t in traces)
    print(
        f"{1000 * spent / runs:.2f} ms of CPU a run, {spent * 1e9 / sum(tokens['ours']) / 1000:.2f} us a token of ours"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "gpt-4o")
