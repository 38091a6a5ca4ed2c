"""Windows of live runs, and what is queued of stored traces."""

from __future__ import annotations

from dataclasses import replace

from small_traces import TRACE_ID, Said, run, trace

from tracejury.collector.judging.llm.judge_queue import JudgeQueue, JudgeTask
from tracejury.collector.judging.llm.pending_tasks import resume
from tracejury.collector.judging.llm.run_selector import RunSelector
from tracejury.collector.judging.llm.traces_to_judge import TracesToJudge
from tracejury.collector.judging.llm.windows import Windows
from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.schedule import SECOND, WindowRules
from tracejury.judges.llm.selection import Policy, Rule
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.trajectory import Trace, TraceState, TurnKind
from tracejury.schemas.verdicts import JudgedTrace, Judgement, Outcome, Subject, SubjectKind

KEY = ("", TRACE_ID)
PANEL = llm_judges_of(load_set("production"), "test")
WINDOW_JUDGES = PANEL.asked("manager", Stage.WINDOW, has_plan=False)


class Scene:
    """Windows over a queue, with a policy and a clock of ours."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.queue = JudgeQueue()
        self.policy = policy or Policy()
        self.recent = TracesToJudge()
        self.windows = Windows(PANEL, self.policy, WindowRules(turns=5, seconds=60), self.queue, self.recent)
        self.judges = {j.name for j in PANEL.judges}
        self.selector = RunSelector(PANEL, self.policy, self.queue, self.recent, self.windows, clock=lambda: 0)

    def taken(self) -> JudgeTask | None:
        """The next of the queue, done at once."""
        items = self.queue.take_next(0)
        self.queue.done(items)
        return items[0].value if items else None

    def settled(self, whole: Trace) -> JudgedTrace:
        """The trace judged by detectors that found nothing, with its ledger."""
        subject = Subject(SubjectKind.TRACE, whole.trace_id, whole.trace_id)
        judgement = Judgement(subject, "detectors", "v", "h", 1, 1, Outcome.DONE)
        noted = self.selector.select(whole, (), {}, 1)
        return JudgedTrace(whole, judgement, ledger=noted.rows, known_runs=noted.known_runs)


def live(turns: int, *plans: int) -> Trace:
    """An open trace with one manager of so many closed turns."""
    said = (Said(f"l{i}", "x", kind=TurnKind.PLAN if i in plans else TurnKind.ACT) for i in range(turns))
    return trace(run("m", *said, ended=False), state=TraceState.OPEN)


def test_five_closed_turns_are_a_window_and_five_more_the_next() -> None:
    """Each turn is in one window; in between nothing is put before the judges."""
    scene = Scene()
    seen = []
    for turns in range(1, 12):
        scene.windows.watch(live(turns), (), 0)
        task = scene.taken()
        if task is not None:
            seen.append((turns, task.stage, task.turns, task.judges))
    assert seen == [(5, Stage.WINDOW, (0, 5), WINDOW_JUDGES), (10, Stage.WINDOW, (5, 10), WINDOW_JUDGES)]


def test_time_closes_a_window_without_news() -> None:
    """The clock alone does it, once."""
    scene = Scene()
    scene.windows.watch(live(1), (), 1)
    scene.windows.tick(60 * SECOND)
    assert scene.taken() is None
    scene.windows.tick(60 * SECOND + 1)
    task = scene.taken()
    assert task is not None
    assert task.turns == (0, 1)
    scene.windows.tick(1000 * SECOND)
    assert scene.taken() is None


def test_a_plan_goes_before_its_judge_as_soon_as_it_stands() -> None:
    """And again only with the next plan; the window that holds it names it too."""
    scene = Scene()
    seen = []
    for turns in range(1, 6):
        scene.windows.watch(live(turns, 0, 3), (), 0)
        if (task := scene.taken()) is not None:
            seen.append((turns, task.stage, task.plans))
    assert seen == [(1, Stage.PLAN, (0,)), (4, Stage.PLAN, (0, 3)), (5, Stage.WINDOW, ())]


def test_what_was_judged_before_is_in_no_window() -> None:
    """Of a run that the ledger knows, in a trace that goes on or in a new process, only what comes now is."""
    scene = Scene()
    seen = []
    for turns in range(6, 12):
        scene.windows.watch(live(turns, 0, 3, 8), (), 0, known_runs={"m"})
        if (task := scene.taken()) is not None:
            seen.append((turns, task.stage, task.turns, task.plans))
    assert seen == [(9, Stage.PLAN, (6, 9), (8,)), (11, Stage.WINDOW, (6, 11), ())]


def test_what_the_policy_leaves_out_has_no_windows() -> None:
    """Sampling decides alike before and at the end."""
    scene = Scene(Policy((Rule(rate=1e-12),), None, always_on_error=False))
    scene.windows.watch(live(9), (), 0)
    assert scene.taken() is None


def test_a_settled_trace_has_no_more_windows_and_its_run_is_put_with_all_judges() -> None:
    """The closing pass, with what the windows began known to be stored."""
    scene = Scene()
    scene.windows.watch(live(5), (), 0)
    assert scene.taken() is not None
    settled = replace(live(6), state=TraceState.SETTLED)
    scene.selector.enqueue([scene.settled(settled)])
    task = scene.taken()
    assert task is not None
    assert (task.stage, task.fresh) == (Stage.CLOSING, False)
    assert task.judges == tuple(j.name for j in PANEL.of_run("manager"))
    assert len(scene.windows) == 0


def test_a_run_without_windows_needs_no_look_at_the_store() -> None:
    """Nothing of it is stored."""
    scene = Scene()
    scene.selector.enqueue([scene.settled(replace(live(2), state=TraceState.SETTLED))])
    task = scene.taken()
    assert task is not None
    assert task.fresh


def test_a_window_that_finds_no_room_is_tried_again() -> None:
    """Progress counts only what was queued."""
    scene = Scene()
    for number in range(256):
        scene.queue.add(JudgeTask(KEY, f"other {number}", Stage.WINDOW, ("tool-calling",), "h", 1.0))
    scene.windows.watch(live(5), (), 0)
    assert not scene.windows.begun((KEY, SubjectKind.AGENT_RUN, "m"))
    while scene.taken() is not None:
        pass
    scene.windows.tick(0)
    task = scene.taken()
    assert task is not None
    assert task.turns == (0, 5)


def test_what_an_earlier_process_left_is_resumed_run_by_run() -> None:
    """All judges of a run together, and not those that sit no longer."""
    scene = Scene()
    left = [
        LedgerRow(
            "", trace_id, SubjectKind.AGENT_RUN, run_id, judge, "v", "h", Outcome.PENDING, "", "", 0.5, 0, 0, 1, 9
        )
        for run_id, trace_id in (("m", TRACE_ID), ("s", "2" * 32))  # runs of one trace come together
        for judge in ("tool-calling", "long-gone", "logical-consistency")
    ]
    assert resume(scene.queue, left, scene.judges) == 2
    first = scene.taken()
    assert first is not None
    assert (first.subject_id, first.judges) == ("m", ("tool-calling", "logical-consistency"))
    assert (first.fresh, first.probability, first.received_through) == (False, 0.5, 9)
    assert resume(scene.queue, left, scene.judges) == 1, "what waits already is not put again"
