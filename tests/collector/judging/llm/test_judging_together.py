"""Short runs of one trace judged by one call, over the real store."""

from __future__ import annotations

from judging_bench import TRACE
from llm_bench import LlmBench, agent

from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.schemas.spans import Span
from tracejury.schemas.verdicts import Outcome

RUNS = [f"{number}a".rjust(16, "0") for number in range(3)]


def conversation(*numbers: int) -> list[Span]:
    """Exchanges of one trace, each a short run of the clerk."""
    return [span for number in numbers or range(3) for span in agent(number, turns=range(number, number + 1))]


def terminal() -> Span:
    """A run that executes what another wrote."""
    return Span(
        TRACE, "c".rjust(16, "0"), RUNS[0], "terminal.run", 4, 5,
        {"openinference.span.kind": "AGENT", "input.value": "print(3)", "output.value": "3"}, service="farm",
    )  # fmt: skip


def miscounted(prompt: Prompt) -> str:
    """An error at the second exchange's call."""
    label = "S3" if "print(3)" in prompt.messages[-1].text else "S2"
    return answer(prompt, [finding(label, "I count 2 hens in yard 1.")])


def test_exchanges_of_one_trace_are_judged_by_one_call_each_with_its_own_verdicts(store: SharedStore) -> None:
    """The finding stands at its run; a terminal's run has no entries."""
    llm = LlmBench(store, miscounted)
    llm.detecting.commit(*conversation(), terminal())
    llm.detecting.wait(6)
    with llm.running():
        llm.settle()
    assert isinstance(llm.client, ScriptedClient)
    assert len(llm.client.prompts) == 1
    assert {subject for subject, _ in llm.words()} == set(RUNS)
    assert {row.outcome for row in llm.words().values()} == {Outcome.DONE, Outcome.NOT_APPLICABLE}
    assert {subject for subject, _ in llm.verdicts()} == set(RUNS)
    (found,) = llm.findings()
    assert (found.agent_run_id, found.span_id) == (RUNS[1], "1b1".rjust(16, "0"))


def test_a_late_span_has_only_its_run_judged_again_with_the_others_as_context(store: SharedStore) -> None:
    """The finding at another run stays, and that run is not asked about."""
    llm = LlmBench(store, miscounted)
    llm.detecting.commit(*conversation())
    llm.detecting.wait(6)
    with llm.running():
        llm.settle()
        llm.hear(*agent(2, turns=range(2, 4)))
    assert isinstance(llm.client, ScriptedClient)
    first, second = llm.client.prompts
    assert "Report findings at steps of all runs" in first.messages[-1].text
    assert "Report findings at steps of R3, as" in second.messages[-1].text
    (found,) = llm.findings()
    assert found.agent_run_id == RUNS[1]


def test_runs_that_an_earlier_process_left_pending_are_judged_together(store: SharedStore) -> None:
    """They come from the store without their trace, and are divided into groups once it is read."""
    stopped = LlmBench(store, miscounted)
    stopped.detecting.commit(*conversation())
    stopped.detecting.wait(6)
    assert {row.outcome for row in stopped.words().values()} == {Outcome.PENDING}
    assert len(stopped.queue) == 3
    llm = LlmBench(store, miscounted)
    with llm.running():
        llm.settle()
    assert isinstance(llm.client, ScriptedClient)
    assert len(llm.client.prompts) == 1
    assert {row.outcome for row in llm.words().values()} == {Outcome.DONE, Outcome.NOT_APPLICABLE}


def test_where_no_usable_answer_comes_each_run_is_judged_by_itself(store: SharedStore) -> None:
    """A model that cannot answer about several runs at once costs no verdict."""
    llm = LlmBench(store, lambda prompt: "no JSON" if "R1" in prompt.messages[-1].text else answer(prompt))
    with llm.running():
        llm.hear(*conversation())
    assert {row.outcome for row in llm.words().values()} == {Outcome.DONE, Outcome.NOT_APPLICABLE}
