"""What was cut and later mattered is shown where it did: figures, names and words that a step took from it."""

from __future__ import annotations

import re
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from small_traces import Did, Said, run, trace
from transcribed import AGENT, llm, recorded, text_of, told

from tracejury.processors.transcript import UNCUT, transcribe
from tracejury.schemas.transcript import Transcript

FILLER = "".join(f"A line about nothing in particular, the number of which is {i} thousand.\n" for i in range(200))
FACT = "The harbour of Oostvik was dredged to 17.35 metres in the autumn."
PAGE = f"{FILLER}{FACT}\n{FILLER}"
EXCERPT = re.compile(r"^excerpt of (.+), cut there:\n((?: .*\n)+)", re.MULTILINE)


def excerpts(transcript: Transcript) -> list[tuple[str, str]]:
    """(place, passage) in order."""
    return [found for step in transcript.steps for found in EXCERPT.findall(step.text)]


def test_a_figure_taken_from_a_cut_result_brings_its_passage() -> None:
    """At the step that wrote it, with the place; a step that writes something else has none."""
    transcript = told(
        Said("l1", "I read.", [Did("read", {"p": "x"}, PAGE, span_id="t1")]),
        Said("l2", "Nothing yet."),
        Said("l3", "It is 17.35 metres deep."),
    )
    assert FACT not in transcript.steps[1].text
    assert "excerpt" not in transcript.steps[2].text
    ((place, passage),) = EXCERPT.findall(transcript.steps[3].text)
    assert place == "result of S2"
    assert f" {FACT}\n" in passage


def test_a_call_and_a_message_count_as_well() -> None:
    """A name that a call asks for; a result that only the next call's message holds, cut at the same step."""
    transcript = recorded(
        AGENT,
        llm("l1", 1, [("user", "How deep?")], "I look it up."),
        llm("l2", 3, [("user", "How deep?"), ("assistant", "I look it up."), ("tool", PAGE)], "The port is Oostvik's."),
    )
    assert [place for place, _ in excerpts(transcript)] == ["input of S2"]


def test_a_passage_is_given_once_and_not_where_it_is_shown() -> None:
    """Later mentions need no second excerpt; what stands in the shown part of a result needs none."""
    transcript = told(
        Said("l1", "I read.", [Did("read", {"p": "x"}, f"{FACT}\n{PAGE.replace(FACT, 'gone')}", span_id="t1")]),
        Said("l2", "17.35 it is."),
    )
    assert excerpts(transcript) == []
    twice = told(
        Said("l1", "I read.", [Did("read", {"p": "x"}, PAGE, span_id="t1")]),
        Said("l2", "17.35 it is."),
        Said("l3", "As I said, 17.35 in Oostvik."),
    )
    assert len(excerpts(twice)) == 1


def test_uncut_text_needs_no_excerpts() -> None:
    """Labels and spans are the same."""
    one = run(
        "r", Said("l1", "I read.", [Did("read", {"p": "x"}, PAGE, span_id="t1")]), Said("l2", "It is 17.35 deep.")
    )
    cut, whole = transcribe(trace(one), one), transcribe(trace(one), one, UNCUT)
    assert excerpts(cut)
    assert not excerpts(whole)
    assert FACT in whole.steps[1].text
    assert whole.spans == cut.spans
    assert [step.cut for step in whole.steps] == [0, 0, 0]


WORDS = st.sampled_from(["Oostvik", "17.35", "dredged", "autumn", "1,204", "Fjordane", "nothing", "the", "4711"])
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), max_size=4)


@settings(max_examples=sized(30, 200))
@given(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=6))
def test_excerpts_are_cut_passages_once_each_and_bounded(turns: list[tuple[list[str], list[str]]]) -> None:
    """Whatever is written: passages of the whole text, none twice, few characters a step; the labels stay."""
    said = [
        Said(
            f"l{i}",
            "\n".join(written),
            [Did("read", {"p": i}, f"{FILLER}{i} begins\n" + "\n".join(brought) + f"\n{FILLER}", span_id=f"t{i}")],
        )
        for i, (written, brought) in enumerate(turns)
    ]
    one = run("r", *said)
    cut, whole = transcribe(trace(one), one), transcribe(trace(one), one, UNCUT)
    everything = text_of(whole)
    passages = [passage for _, passage in excerpts(cut)]
    for line in "".join(passages).splitlines():
        assert f"{line}\n" in everything
    assert len(passages) == len(set(passages))
    for step in cut.steps:
        assert sum(len(passage) for _, passage in EXCERPT.findall(step.text)) <= 1_000
    assert cut.spans == whole.spans


def test_cost_is_linear() -> None:
    """Twice the turns take about twice the time, whatever words they share."""

    def spent(count: int) -> float:
        said = [
            Said(f"l{i}", f"It is 17.35 or {i * 37}.", [Did("read", {"p": i}, f"{i} {PAGE}", span_id=f"t{i}")])
            for i in range(count)
        ]
        one = run("r", *said)
        began = process_time()
        transcribe(trace(one), one)
        return process_time() - began

    spent(5)
    assert spent(80) < 6 * max(spent(20), 0.02) + 0.2
