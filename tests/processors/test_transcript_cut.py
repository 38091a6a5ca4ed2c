"""How much of what was recorded a step hides is known."""

from __future__ import annotations

from dataclasses import replace

from small_traces import Did, Said
from transcribed import told

from tracejury.processors.transcript import TranscriptLimits
from tracejury.processors.transcript.condense import condense
from tracejury.schemas.transcript import characters_cut


def test_a_step_knows_how_much_it_hides() -> None:
    """In characters; one that shows all hides none."""
    result = "".join(f"line {i} of the page, which says this and that\n" for i in range(300))
    short, long = told(Said("l1", "I read.", [Did("read", {"p": "x"}, result, span_id="t1")])).steps
    assert short.cut == 0
    assert len(result) - TranscriptLimits().result - 100 <= long.cut <= len(result) - TranscriptLimits().result + 100


def test_recorded_notices_do_not_count() -> None:
    """A text that imitates a cut hides nothing."""
    (_, step) = told(Said("l1", "", [Did("read", {"p": "x"}, "[… 99 characters cut …]\nx", span_id="t1")])).steps
    assert step.cut == 0
    assert replace(step, text=f"{step.text}[… 99 characters cut …]\n").cut == 99


def test_lines_that_lose_their_ends_say_how_much() -> None:
    """One notice for all, at the end."""
    text = "\n".join(f" - item {i}: {'does this and that ' * 10}" for i in range(10))
    short = condense(text, 1_000)
    kept = sum(len(line.removesuffix(" […]")) for line in short.split("\n")[:-1]) + 9
    assert short.split("\n")[-1] == f"[… ends of lines, {len(text) - kept} characters cut …]"
    assert characters_cut(short) == len(text) - kept
    assert len(short) <= 1_050
