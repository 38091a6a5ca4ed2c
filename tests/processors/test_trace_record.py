"""The record of a whole trace: all runs in order of time, and what is near to the steps of interest in full."""

from dataclasses import replace

from small_traces import Did, Said, run, trace

from tracejury.processors.transcript.trace_record import near, trace_record

SEARCHER = run(
    "search", Said("s1", "I look in Rome."), role="sub-agent", parent_id="boss", name="searcher", goal="Rome"
)
BOSS = run(
    "boss",
    *(
        Said(
            f"m{n}", f"Step {n} says {n} hens. " + "word " * 60, [Did("count", {"n": n}, f"{n} hens", span_id=f"t{n}")]
        )
        for n in range(12)
    ),
    answer="11 hens",
)
WHOLE = trace(BOSS, SEARCHER)


def count(text: str) -> int:
    return len(text) // 4


def test_steps_of_all_runs_stand_in_order_of_time() -> None:
    record = trace_record(WHOLE)
    labels = [step.label for step in record.steps]
    assert labels.index("R1.S1") < labels.index("R2.S1") < labels.index("R1.S3")  # it began with the first call
    assert [label for label in labels if label[:2] == "R1"] == [f"R1.S{n}" for n in range(1, 25)]
    assert "R2 is the run of agent searcher (sub-agent): Rome" in record.header
    assert "11 hens" in record.closing


def test_what_a_called_agent_wrote_stands_once_in_its_own_run() -> None:
    """Where it comes back to the caller, and to its later calls, a reference stands for it."""
    long = "\n".join(f"{n} hens of Rome are counted each spring by the keepers of the hill." for n in range(6))
    inner = run("inner", Said("s1", long), role="sub-agent", parent_id="boss", name="counter", goal="Rome", answer=long)
    call = Did("ask", {"city": "Rome"}, long, span_id="t1", sub_run_id="inner")
    record = trace_record(trace(run("boss", Said("m1", "I ask.", [call]), answer="done"), inner))
    text = "".join(step.text for step in record.steps)
    assert text.count("3 hens of Rome") == 1
    (own,) = [step for step in record.steps if step.label == "R2.S1"]
    assert "3 hens of Rome" in own.text
    assert "reply of R2.S1" in text


def test_a_record_that_fits_is_whole() -> None:
    record = trace_record(WHOLE)
    assert near(record, {"R1.S9"}, 100_000, count) == record


def test_far_steps_have_one_line_each() -> None:
    record = trace_record(WHOLE)
    cut = near(record, {"R1.S9"}, 1_000, count)
    text = {step.label: step.text for step in cut.steps}
    assert text["R1.S9"] == next(s.text for s in record.steps if s.label == "R1.S9")
    assert text["R1.S17"].count("\n") == 1
    assert count(cut.header + "".join(text.values()) + cut.closing) <= 1_000


def test_the_steps_of_interest_stay_however_little_room_there_is() -> None:
    record = trace_record(WHOLE)
    long = replace(record, steps=tuple(replace(s, text=s.text + " and so on\n" * 900) for s in record.steps))
    cut = near(long, {"R1.S9"}, 100, count)
    assert [step.label for step in cut.steps] == ["R1.S1", "R1.S9", "R1.S24"]
    assert "steps left out" in cut.steps[1].text
    assert "characters cut" in cut.steps[1].text
    assert len(cut.steps[1].text) < 700
