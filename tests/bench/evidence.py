"""What transcripts show of the evidence that annotations rest on.

    python tests/bench/evidence.py ../shared/data/trail/gaia-dev [FOLDER …]

For each folder of traces and annotations:
- quotes: annotated evidence in pieces of 40 letters and digits; of those that stand in the trace, the share that some
  step or header shows;
- mentions: figures and names in the annotators' evidence and descriptions; of those that the trace records, the share
  that is shown;
- grounds: figures and names that a run's calls wrote, thought or asked for and that earlier inputs of the run hold (not
  its header); the share that the transcript shows in an input, result or excerpt up to that step;
- policies: lines of system prompts, worked examples apart; the share that is shown whole.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from trajectories import load
from transcribed import loose, text_of

from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import UNCUT, TranscriptLimits, transcribe
from tracejury.processors.transcript.condense import without_examples
from tracejury.processors.transcript.knowledge import sections
from tracejury.processors.transcript.lines import recorded
from tracejury.schemas.shown import shown
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.transcript import StepKind

PIECE = 40
WRITTEN = re.compile(r"(?:reasoning|wrote|calls|arguments)\b")
MENTION = re.compile(r"\d[\d.,]*\d|(?<=[a-z,:(\"'] )[\"'(]?[A-Z][\w-]{3,}")


def pieces(evidence: str) -> list[str]:
    """An annotation's evidence in consecutive pieces; annotators join passages of several places."""
    text = loose(evidence)
    return [text[at : at + PIECE] for at in range(0, max(len(text) - PIECE, 0) + 1, PIECE) if text[at : at + PIECE]]


def mentions(error: dict[str, str]) -> set[str]:
    """Figures and names of an annotation."""
    found = MENTION.findall(f"{error.get('evidence', '')} {error.get('description', '')}")
    return {one.strip("\"'(") for one in found}


def grounds(run: AgentRun, trace: Trace) -> Counter[str]:
    """Of what the calls took from their inputs, how much stands where a judge can compare it."""
    whole, ours = transcribe(trace, run, UNCUT), transcribe(trace, run)
    found: Counter[str] = Counter()
    known: set[str] = set()
    told: set[str] = set()
    header = named(whole.header)
    for full, step in zip(whole.steps, ours.steps, strict=True):
        known |= named(full.text)
        told |= named(step.text)
        if full.kind is StepKind.LLM:
            taken = (named(full.text, written=True) & known) - header
            found["grounds"] += len(taken)
            found["grounds shown"] += len(taken & told)
    return found


def named(text: str, *, written: bool = False) -> set[str]:
    """Figures and names of what a step was sent or brought, or of what the call wrote."""
    parts = (part for title, part in sections(text) if bool(WRITTEN.match(title)) is written)
    return {mention.strip("\"'(") for part in parts for mention in MENTION.findall(part)}


def policies(trace: Trace) -> Iterable[str]:
    """The lines of the system prompts of a trace's runs."""
    for run in trace.runs:
        for turn in run.turns:
            for message in turn.new_messages if turn.llm else ():
                if message.role in ("system", "developer"):
                    lines = without_examples(recorded(shown(message.text))).split("\n")
                    yield from (line for line in lines if len(line.strip()) >= PIECE)


def measure(trace: Trace, errors: list[dict[str, str]]) -> Counter[str]:
    """Counts over one trace."""
    whole, ours = (
        "".join(text_of(transcribe(trace, run, limits)) for run in trace.runs) for limits in (UNCUT, TranscriptLimits())
    )
    every, told, lines = loose(whole), loose(ours), set(ours.split("\n"))
    found: Counter[str] = Counter(characters=len(ours))
    for error in errors:
        for piece in pieces(error.get("evidence", "")):
            found["quotes"] += piece in every
            found["quotes shown"] += piece in every and piece in told
        for mention in mentions(error):
            found["mentions"] += mention in whole
            found["mentions shown"] += mention in whole and mention in ours
    for run in trace.runs:
        found += grounds(run, trace)
    for line in set(policies(trace)):
        found["policies"] += 1
        found["policies shown"] += line in lines
    return found


def main(folders: list[Path]) -> None:
    """Prints a line a folder."""
    for folder in folders:
        found: Counter[str] = Counter()
        for file in sorted((folder / "traces").iterdir()):
            for spans in load(file).values():
                trace = rebuild(spans)
                annotated = folder / "annotations" / f"{file.name.split('.')[0]}.json"
                errors = json.loads(annotated.read_text())["errors"] if annotated.exists() else []
                found += measure(trace, errors)
        shares = (
            f"{kind} {found[f'{kind} shown']}/{found[kind]} ({found[f'{kind} shown'] / (found[kind] or 1):.3f})"
            for kind in ("quotes", "mentions", "grounds", "policies")
        )
        print(f"{folder.name}: {', '.join(shares)}, {found['characters']} characters")


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
