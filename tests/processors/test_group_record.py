"""Several runs of one trace as one record: in order of time, every step once, each text once."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from small_traces import Did, Said, run, trace

from tracejury.judges.llm.groups import MOST_RUNS, groups
from tracejury.processors.transcript import UNCUT, group_record, transcribe
from tracejury.schemas.trajectory import AgentRun, Trace

WORDS = st.sampled_from(["four hens", "no cow", "I look it up", "the barn is red", "hens " * 900])


def shifted(one: AgentRun, by: int) -> AgentRun:
    """The run as it would be so many ticks later."""
    turns = []
    for turn in one.turns:
        llm = turn.llm and replace(turn.llm, raw=replace(turn.llm.raw, start=turn.llm.raw.start + by))
        turns.append(replace(turn, llm=llm))
    span = one.span and replace(one.span, raw=replace(one.span.raw, start=by, end=by + 1000))
    return replace(one, turns=tuple(turns), span=span)


@st.composite
def chats(draw: st.DrawFn) -> Trace:
    """A manager, and agents that speak in turns or at the same time."""
    runs = []
    for number in range(draw(st.integers(1, 16))):
        said = [
            Said(
                f"l{number}-{turn}",
                f"{draw(WORDS)} {number} {turn}",
                [Did("look", {"q": 1}, "seen", span_id=f"t{number}-{turn}")],
            )
            for turn in range(draw(st.integers(1, 3)))
        ]
        role, parent = ("sub-agent", "r0") if number else ("manager", "")
        made = run(f"r{number}", *said, role=role, parent_id=parent, goal=draw(WORDS), answer=draw(WORDS))
        runs.append(shifted(made, draw(st.integers(0, 40))))
    return trace(*runs)


@given(chats())
def test_every_closed_step_of_every_run_is_in_exactly_one_record(whole: Trace) -> None:
    """Labels run through, groups are bounded, and the same trace gives the same records."""
    found = groups(whole)
    assert [r.id for g in found for r in g] == [r.id for g in groups(whole) for r in g]
    assert len({r.id for g in found for r in g}) == sum(map(len, found))
    spans: list[str] = []
    for group in found:
        record = group_record(whole, group)
        steps = record.transcript.steps
        assert len(group) <= MOST_RUNS
        assert [s.label for s in steps] == [f"S{n}" for n in range(1, len(steps) + 1)]
        assert set(record.owners) == {s.label for s in steps}
        assert [s.label for s in group_record(whole, group, UNCUT).transcript.steps] == [s.label for s in steps]
        assert group_record(whole, group) == record
        spans += [s.span_id for s in steps]
        for one in group:
            own = [s.span_id for s in steps if record.owners[s.label] == one.id]
            assert own == [s.span_id for s in transcribe(whole, one).steps]
    assert len(spans) == len(set(spans))


def test_what_a_sub_agent_did_stands_between_its_callers_decisions() -> None:
    """A run that is shown by its outcome only stands where it ran, too."""
    manager = run(
        "m",
        Said("l1", "Ask the farmer.", [Did("farmer", {"q": "hens"}, "three", sub_run_id="s")]),
        Said("l9", "Three hens."),
        answer="Three hens.",
    )
    below = shifted(run("s", Said("l2", "I count three."), parent_id="m", role="sub-agent", goal="Count."), 0)
    whole = trace(manager, below)
    told = "".join(s.text for s in group_record(whole, whole.runs).transcript.steps)
    assert (
        told.index("Ask the farmer.")
        < told.index("Run R2 of agent")
        < told.index("R1 goes on.")
        < told.index("Three hens.")
    )
    assert "sub-agent of R1" in told
