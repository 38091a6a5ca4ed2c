"""Transcripts that are too long to be read at once: chapters that fit, nothing lost."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from small_traces import Said, run, trace

from tracejury.processors.transcript import TranscriptLimits, split, transcribe
from tracejury.schemas.transcript import Transcript

WIDE = TranscriptLimits(output=200_000)


class Counting:
    """Counts tokens as a tokenizer might: four characters of ASCII one, other characters one each."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, text: str) -> int:
        self.calls += 1
        plain = len(text.encode("ascii", "ignore"))
        return plain // 4 + len(text) - plain + 1


def long(sizes: list[int], letter: str = "a") -> Transcript:
    one = run("r", *(Said(f"l{i}", f"{letter * 19} " * (n // 20 + 1)) for i, n in enumerate(sizes)), answer="The end.")
    return transcribe(trace(one), one, WIDE)


def test_what_fits_is_one_chapter() -> None:
    """As it is, and without asking the tokenizer where the number of characters says enough."""
    transcript = long([100] * 5)
    count = Counting()
    (chapter,) = split(transcript, 10_000, count)
    assert chapter.steps == transcript.steps
    assert (chapter.before, chapter.first, chapter.last, chapter.fresh) == ("", 0, 5, "S1")
    assert chapter.text == transcript.header + "".join(s.text for s in transcript.steps) + transcript.closing
    assert count.calls == 0


def test_chapters_overlap_and_begin_with_an_index() -> None:
    """Each later one repeats the last steps of the one before, and tells the rest by a line a step."""
    transcript = long([400] * 60)
    chapters = split(transcript, 2_000, Counting())
    assert len(chapters) > 2
    for before, after in pairwise(chapters):
        assert after.first == before.last - 2
        assert after.fresh == transcript.steps[before.last].label
        assert after.before.startswith("Steps before this part, in brief:\n")
        assert transcript.steps[after.first - 1].outline in after.before
        assert transcript.steps[after.first].outline not in after.before.splitlines()
    assert [bool(c.closing) for c in chapters] == [False] * (len(chapters) - 1) + [True]


def test_a_step_that_is_too_long_is_cut_apart() -> None:
    """Its parts say which they are; together they hold all of it."""
    transcript = long([100, 40_000, 100])
    chapters = split(transcript, 2_000, Counting(), overlap=0)
    parts = [s for c in chapters for s in c.steps if s.label == "S2"]
    assert len(parts) > 4
    assert parts[0].text.startswith(f"S2 (part 1 of {len(parts)} of this step)\nS2 llm\n")
    assert parts[-1].text.startswith(f"S2 (part {len(parts)} of {len(parts)} of this step)\n ")
    assert sum(p.text.count("a") for p in parts) >= 40_000 * 0.95


@settings(max_examples=sized(20, 60))
@given(
    st.lists(st.integers(1, 9_000), min_size=1, max_size=30),
    st.sampled_from(["a", "\u4e2d", "\u00e9"]),
    st.integers(600, 6_000),
    st.integers(0, 4),
)
def test_every_chapter_fits_and_no_step_is_lost(sizes: list[int], letter: str, budget: int, overlap: int) -> None:
    """Whatever the sizes and however dense the text, in few calls of the tokenizer."""
    transcript = long(sizes, letter)
    count = Counting()
    chapters = split(transcript, budget, count, overlap)
    assert all(Counting()(c.text) <= budget for c in chapters)
    assert count.calls <= 1 + 4 * len(chapters)
    seen = [s.label for c in chapters for s in c.steps]
    assert list(dict.fromkeys(seen)) == [s.label for s in transcript.steps]
    assert chapters[0].first == 0
    assert chapters[-1].last == len(transcript.steps)
    for step in transcript.steps:
        parts = [s.text for c in chapters for s in c.steps if s.label == step.label]
        assert step.text in parts or step.text.count(letter) <= sum(p.count(letter) for p in parts)
    lines = [line for c in chapters for line in c.text.split("\n") if line]
    assert all(line[0] in " S[=OEweian" for line in lines)
