"""How much of what was recorded a step hides is known."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

from small_traces import Did, Said, run, trace
from transcribed import text_of, told

from tracejury.processors.transcript import TranscriptLimits, transcribe
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


def test_no_base64_is_shown_at_any_limit() -> None:
    """A picture in a result, a message or an argument is told by type, size and hash, whatever is cut around it."""
    data = bytes(range(256)) * 100
    picture = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    mark = f"sha256 {hashlib.sha256(data).hexdigest()[:12]}]"
    for limit in (100, 1_000, 100_000):
        limits = TranscriptLimits(result=limit, output=limit, arguments=limit, message=limit)
        did = [Did("look", {"at": picture}, f"A {picture}", span_id="t")]
        one = run("r", Said("l1", f"I look at {picture}.", did, sees=[f"See {picture}."]))
        text = text_of(transcribe(trace(one), one, limits=limits))
        assert text.count(mark) >= 3
        assert not re.search("[A-Za-z0-9+/]{200}", text)
