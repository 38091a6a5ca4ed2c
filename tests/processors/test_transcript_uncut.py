"""The uncut transcript of a run has the labels and spans of the cut one, and hides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sizes import sized
from trajectories import FRAMEWORKS, SHARED, TRAIL, load

from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import UNCUT, session_record, transcribe
from tracejury.schemas.trajectory import Trace, TraceState

STEPS = SHARED / "steps"
FOLDERS = {
    "trail": (TRAIL, "*", sized(8, 1)),
    "steps": (STEPS, "*/traces/*", sized(10, 1)),
    "frameworks": (FRAMEWORKS, "*/*.zip", sized(5, 1)),
}


def traces(folder: Path, pattern: str, every: int) -> Iterator[Trace]:
    for file in sorted(folder.glob(pattern))[::every]:
        for spans in load(file).values():
            yield rebuild(spans, state=TraceState.SETTLED)


@pytest.mark.parametrize("name", FOLDERS)
def test_captures_have_the_same_labels_uncut(name: str) -> None:
    """So that a judge asks for a step by the label that it was shown."""
    folder, pattern, every = FOLDERS[name]
    if not folder.exists():
        pytest.skip(f"{folder} is absent: the captures are shared between checkouts, not part of the project")
    compared = hidden = 0
    for trace in traces(folder, pattern, every):
        pairs = [(transcribe(trace, run), transcribe(trace, run, UNCUT)) for run in trace.runs]
        pairs.append((session_record("s", [trace]).transcript, session_record("s", [trace], UNCUT).transcript))
        for cut, whole in pairs:
            assert list(cut.spans.items()) == list(whole.spans.items())
            assert [(s.kind, s.turn, s.outline) for s in cut.steps] == [
                (s.kind, s.turn, s.outline) for s in whole.steps
            ]
            assert not any(step.cut for step in whole.steps)
            compared += len(cut.steps)
            hidden += sum(step.cut for step in cut.steps)
    assert compared > 0
    assert hidden > 0 or name == "frameworks"
