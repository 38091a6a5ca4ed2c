"""The gate on real traces: what a judge copies is found, what it makes up is not."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from panel_cases import panel

from tracejury.collector.evaluation.folder import load
from tracejury.collector.evaluation.predictions import predicted
from tracejury.collector.evaluation.score import grounding
from tracejury.collector.judging.detect.direct import DecodedSpans, stored
from tracejury.judges.llm.answer_types import Claim
from tracejury.judges.llm.gate import Gate
from tracejury.processors.transcript import transcribe
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Severity
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import Step, StepKind, Transcript

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "trail" / "gaia-dev"

pytestmark = [
    pytest.mark.trail,
    pytest.mark.skipif(not FOLDER.exists(), reason="the shared TRAIL traces are not on this machine"),
]

PANEL = panel()
ASKED = tuple(judge.name for judge in PANEL.judges)


@cache
def _received() -> tuple[DecodedSpans, list[Trace]]:
    received = stored(load(FOLDER, limit=12).requests)
    return received, received.traces()


def _lines(step: Step) -> list[str]:
    """Recorded lines that can be quoted."""
    return [line[1:] for line in step.text.split("\n") if line.startswith(" ") and len(line.strip()) >= 10]


def _quote(dice: random.Random, line: str) -> str:
    """Ten to two hundred characters of a line."""
    at = dice.randrange(max(1, len(line) - 20))
    return line[at : at + dice.randrange(10, 200)].strip() or line.strip()


def _claim(step: Step, quote: str) -> Claim:
    return Claim((step.label,), quote, ("LC",), "Goal Deviation", Severity.HIGH, "It is so.")


def _passed(claims: Iterator[tuple[Trace, Transcript, Sequence[Claim]]]) -> tuple[list[Finding], int]:
    """What the gates let through, and how many claims there were."""
    found: list[Finding] = []
    made = 0
    for whole, shown, said in claims:
        run = whole.run(shown.run_id)
        assert run is not None
        found += Gate(whole, run, PANEL).findings(said, ASKED, shown)
        made += len(said)
    return found, made


def _ill_copied(quote: str, dice: random.Random) -> str:
    """As models copy: other white space and case, gaps, escapes, a line more; or made up from what stands around."""
    words = quote.split()
    dice.shuffle(words)
    middle = len(quote) // 2
    forms = [
        quote.upper().replace(" ", "  \n"),
        f"{quote[: middle - 3]} [… 6 characters cut …] {quote[middle + 3 :]}",
        f"{quote[:middle]}... {quote[middle:]}",
        quote.replace('"', '\\"'),
        f"{quote}\nand this line is made up",
        f"{quote} and so is this end",
        " ".join(words),
        quote[:middle] + "\u200b" + quote[middle:],
        f"key: {quote}",
    ]
    return dice.choice(forms)


def test_what_an_llm_step_shows_is_its_own_text() -> None:
    """Of what is shown as said by an agent, nearly every line can be quoted; the rest is a tool's definition."""
    dice = random.Random(1)  # noqa: S311 - a sample, the same each time

    def copied() -> Iterator[tuple[Trace, Transcript, Sequence[Claim]]]:
        for whole in _received()[1]:
            for run in whole.runs:
                shown = transcribe(whole, run)
                steps = [step for step in shown.steps if step.kind is StepKind.LLM and _lines(step)]
                yield whole, shown, [_claim(step, _quote(dice, dice.choice(_lines(step)))) for step in steps]

    found, made = _passed(copied())
    assert made > 100
    assert len(found) >= 0.98 * made


@pytest.mark.parametrize("seed", range(4))
def test_nothing_passes_that_does_not_stand_in_the_spans_as_sent(seed: int) -> None:
    """Claims at random steps with quotes ill copied or made up; checked by code that shares nothing with the gate."""
    dice = random.Random(seed)  # noqa: S311 - a sample, the same each time

    def claims() -> Iterator[tuple[Trace, Transcript, Sequence[Claim]]]:
        for whole in _received()[1]:
            for run in whole.runs:
                shown = transcribe(whole, run)
                lines = [line for step in shown.steps for line in _lines(step)]
                if lines:
                    quotes = [_ill_copied(_quote(dice, dice.choice(lines)), dice) for _ in range(30)]
                    yield whole, shown, [_claim(dice.choice(shown.steps), quote) for quote in quotes]

    found, made = _passed(claims())
    assert 0 < len(found) < made
    assert all(f.category in TRAIL_CATEGORIES for f in found)
    received, _ = _received()
    checked = grounding(map(predicted, found), received.spans, received.logs)
    assert (checked.span_exists, checked.evidence_in_span) == (1.0, 1.0)
