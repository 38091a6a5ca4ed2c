"""How the runs of a trace are read, each by itself and by its surroundings; and, first, each of their turns.

docs/detectors.md, "What they look for": "*access to data attempted → succeeded or failed → content produced*"; "which
call first read the failure, the plan in force, and whether that plan needs external data", and "what was observed
belongs to the conversation". A refused change is no failed look-up, and giving the word back to the agent above is no
look-up either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.text.code_blocks import code_of
from tracejury.schemas.trajectory import AgentRun, KnownRun, KnownRuns, Trace, Turn, TurnKind

from .commands import reaches_out
from .facts import CallFacts, FailureReading, RunFacts, RunSurroundings, StartedRun, TurnFacts, opening_messages
from .failure_text import FailureKind, StepFailure, gives_up, reported_failure
from .names import Role, hands_back, hints, named, reads, role_of, text_of
from .read_call import read_call, step_failure
from .text import lowered
from .wording import LOOK_UP, holds_any


def read_runs(trace: Trace, known: KnownRuns) -> dict[str, RunFacts]:
    """Facts of all runs of a trace, by run id.

    Those of a run in `known`, and with them what rules found in them, stand while the run and its surroundings do.
    """
    runs = {run.id: run for run in trace.runs}
    order = {run_id: at for at, run_id in enumerate(runs)}
    read: dict[str, RunFacts] = {}
    for run in trace.runs:
        surroundings, entry = _surroundings(run, runs, order), known.get(run.id)
        if entry is None or entry.run is not run:
            entry = known[run.id] = KnownRun(None, run)
        if not isinstance(entry.hits, RunFacts) or entry.hits.surroundings != surroundings:
            entry.hits = read_run(run, surroundings)
        read[run.id] = entry.hits
    obtained = _obtained(read.values())
    for run_id, facts in read.items():
        informed = _is_informed(facts, obtained)
        if facts.informed != informed:
            known[run_id].hits = read[run_id] = replace(facts, informed=informed, memo={})
    return read


def _surroundings(run: AgentRun, runs: Mapping[str, AgentRun], order: Mapping[str, int]) -> RunSurroundings:
    ids = sorted({i for turn in run.turns for i in started_ids(turn) if i in runs}, key=order.__getitem__)
    started = {i: StartedRun(at, i, runs[i].name, runs[i].answer) for at, i in enumerate(ids)}
    above = runs.get(run.parent_id)
    return RunSurroundings(above.name if above is not None else "", started)


def read_run(run: AgentRun, surroundings: RunSurroundings) -> RunFacts:
    """The facts of a run."""
    tools = _tools(run)
    enders = tuple(f"{t.name.lower()}(" for t in run.tools if role_of(t.name) is Role.FINAL)
    turns = [read_turn(turn, at, run, surroundings, tools, enders) for at, turn in enumerate(run.turns)]
    turns = [t if t.failure is None else replace(t, read=_reading(t, t.failure, turns)) for t in turns]
    plan_at, wants_data = _plans(turns, tools)
    return RunFacts(
        run=run,
        surroundings=surroundings,
        turns=tuple(turns),
        acts=tuple(t for t in turns if t.acting),
        tools=tools,
        settled=_is_over(run, surroundings.above) and not _is_bare(run, turns),
        wants_data=wants_data,
        plan_at=plan_at,
        troubled=any(t.troubled for t in turns),
    )


MOST_TOOLS: Final = 256
"""Names looked for in texts; a run with more tools than that is judged by the first ones."""


def _tools(run: AgentRun) -> tuple[str, ...]:
    own = run.span.tool_names if run.span else ()
    names = [*(t.name for t in run.tools), *own, *run.managed_agents]
    names += [c.name for t in run.turns for c in t.tool_calls if c.executed]
    return tuple(n for n in dict.fromkeys(names) if n and role_of(n) is Role.ACCESS)[:MOST_TOOLS]


def _is_over(run: AgentRun, above: str) -> bool:
    """Whether its own span has ended; of a run without one, whether it ends with an answer and asks for no more.

    By a call it may hand its answer over, or give the word back to the agent above.
    """
    if run.span is not None:
        return not run.span.raw.pending
    last = run.turns[-1] if run.turns else None
    if last is None or last.llm is None or last.llm.is_error or run.status != "ok":
        return False
    if not last.text and not any(call.closing for call in last.tool_calls):
        return False
    return all(call.closing or hands_back(call.name, call.arguments, above) for call in last.tool_calls)


def _is_bare(run: AgentRun, turns: Iterable[TurnFacts]) -> bool:
    """Whether a program only asked a model: calls that no agent claims, without a tool, an agent or code.

    Such a model could do nothing but write, so that what it did not do is no choice of its own, whatever a prompt asks.
    """
    free = run.tools or run.managed_agents or any(t.calls or t.started or t.code for t in turns)
    return run.inferred and not free


def _reading(facts: TurnFacts, failure: StepFailure, turns: Sequence[TurnFacts]) -> FailureReading | None:
    """Where a turn's failure is read first: in a later turn that is sent its text, by its opening or its message."""
    result = facts.failed_call.result if facts.failed_call is not None else None
    keys = [key for text in (failure.text, result) if text for key in _keys(text)]
    for later in turns[facts.position + 1 : facts.position + 1 + AHEAD]:
        if later.turn.kind is TurnKind.INNER:
            continue
        for message in later.turn.new_messages:
            if message.role in ("assistant", "system"):
                continue
            at = next((at for key in keys if (at := message.text.find(key)) >= 0), -1)
            if at >= 0:
                return FailureReading(later.position, message.text, at)
    return None


AHEAD: Final = 3
"""Number of turns after a failure in which it may first be read."""

_KEY: Final = 60
_LEAST_KEY: Final = 8


def _keys(error: str) -> list[str]:
    """Pieces of an error's text by which it is found again: its opening, and that without the exception's type."""
    text = error.strip()
    message = text.partition(": ")[2]
    return [key for key in (text[:_KEY].strip(), message[:_KEY].strip()) if len(key) >= _LEAST_KEY]


def _plans(turns: Iterable[TurnFacts], tools: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """`RunFacts.plan_at` and `RunFacts.wants_data`: a plan counts from the next turn on, a survey for itself, too."""
    plan_at, wants_data = list[int](), list[bool]()
    latest, wanted = -1, False
    for turn in turns:
        kind = turn.turn.kind
        opens = kind is TurnKind.FACTS or (kind is TurnKind.ACT and opens_with_plan(turn.low))
        if opens and latest < 0 and not wanted:
            wanted = hints(turn.low, tools)
        plan_at.append(latest)
        wants_data.append(wanted)
        if kind is TurnKind.PLAN:
            latest = turn.position
            wanted = holds_any(turn.low, LOOK_UP) or bool(named(turn.low, tools))
    return tuple(plan_at), tuple(wants_data)


def opens_with_plan(low: str) -> bool:
    """Whether a lower-cased text begins as a plan."""
    opening = low[:_OPENING]
    if "plan" not in opening:
        return False
    return "plan:" in opening or any(line.lstrip("#* ").startswith("plan") for line in opening.splitlines())


_OPENING: Final = 400


def _obtained(read: Iterable[RunFacts]) -> dict[str, bool]:
    """What runs said, and whether one that said it had obtained data."""
    obtained: dict[str, bool] = {}
    for facts in read:
        for text, succeeded in facts.once(_said):
            obtained[text] = succeeded or obtained.get(text, False)
    return obtained


def _said(facts: RunFacts) -> Iterator[tuple[str, bool]]:
    """The texts of a run, each with whether the run obtained data."""
    succeeded = any(turn.succeeded for turn in facts.turns)
    texts = (facts.run.answer, *(turn.text for turn in facts.run.turns))
    return ((text, succeeded) for text in map(str.strip, texts) if text)


def _is_informed(facts: RunFacts, obtained: Mapping[str, bool]) -> bool:
    """Whether data that was observed before the run stands in what its first call was sent.

    A result counts, whichever run, trace or earlier turn of the user obtained it. An answer from before that no run of
    the trace gave has a history that nobody can see here, so it counts as observed.
    """
    return any(obtained.get(text, observed) for text, observed in facts.once(_told))


def _told(facts: RunFacts) -> Iterable[tuple[str, bool]]:
    """The texts of the input of a run's first call, each with whether it counts where no run of the trace said it."""
    told = [(message.role, text) for message in opening_messages(facts.run) if (text := message.text.strip())]
    if any(role in _RESULTS and reported_failure(text) is None for role, text in told):
        return (("", True),)  # nobody says nothing, so a result counts
    return ((text, role == "assistant") for role, text in told if role not in _RESULTS)


_RESULTS: Final = frozenset({"tool", "tool-response", "function"})


def read_turn(
    turn: Turn,
    position: int,
    run: AgentRun,
    surroundings: RunSurroundings,
    tools: Sequence[str],
    enders: tuple[str, ...],
) -> TurnFacts:
    """One turn of the run, read, but not where its failure was read.

    `tools`: see `RunFacts`; `enders`: how code writes a call that hands over the answer.
    """
    calls = tuple(read_call(call, turn, run) for call in turn.tool_calls)
    worst = next((c for c in calls if c.failure and not c.failure.page and c.role is not Role.FINAL), None)
    failure = worst.failure if worst else step_failure(turn)
    text = _text(turn, calls)
    code = code_of(text) if turn.wrappers or turn.observation else ""
    # A step raised nothing where the model's reply holds neither code nor a call: it could not be read.
    replied = turn.llm is not None and not turn.llm.is_error
    acted = code or turn.tool_calls or turn.tool_requests or turn.sub_run_ids
    if failure is not None and failure.kind is FailureKind.OTHER and replied and not acted:
        failure = replace(failure, kind=FailureKind.PARSE)
    ids = started_ids(turn)
    subs = [surroundings.started[i] for i in ids if i in surroundings.started] if ids else []
    # A hand-over back to the agent above looks up nothing, whether or not that agent's next step is known yet.
    helpers = [sub for sub in subs if not surroundings.above or sub.name != surroundings.above]
    refusals = [line for sub in helpers if (line := gives_up(sub.answer))]
    # A delegation is judged by what the agent answered, below.
    tried = [c for c in calls if c.role is Role.ACCESS and c.ran is not False and not c.call.sub_run_id]
    accesses = [c for c in tried if not hands_back(c.call.name, c.call.arguments, surroundings.above)]
    worked = any(c.failure is None and (c.call.result is not None or failure is None) for c in accesses)
    low = lowered(text)
    answers = any(c.role is Role.FINAL for c in calls) or holds_any(low, enders)
    # What code reads in the step that answers, nobody has looked at before answering.
    stopped = (
        failure is not None
        and failure.kind is not FailureKind.PARSE
        and (worst is not None or turn.llm is None or replied)
    )
    # In a run without tools to access data with, code is how it does.
    ran = bool(code) and (not tools or (reaches_out(code) and not answers))
    return TurnFacts(
        turn=turn,
        position=position,
        text=text,
        low=low,
        calls=calls,
        failure=failure,
        failed_call=worst.call if worst else None,
        gave_up=refusals[0] if refusals else "",
        attempted=bool(accesses or helpers) or ran or stopped,
        looked_up=bool(helpers) or ran or (stopped and not worst) or any(reads(c.call.name) for c in accesses),
        succeeded=worked or len(helpers) > len(refusals) or (ran and failure is None),
        answers=answers,
        acting=turn.kind is TurnKind.ACT and turn.llm is not None,
        started=tuple(sorted(subs)),
        code=code,
    )


def started_ids(turn: Turn) -> tuple[str, ...]:
    """Ids of the runs that a turn started, by calls that are shown as such or in another way."""
    called = [c.sub_run_id for c in turn.tool_calls if c.sub_run_id]
    return tuple(dict.fromkeys([*turn.sub_run_ids, *called])) if called else turn.sub_run_ids


def _text(turn: Turn, calls: tuple[CallFacts, ...]) -> str:
    """The text of a turn; of a call without message text, which is recorded as JSON, the answer it hands over."""
    messages = turn.llm.output_messages if turn.llm else ()
    if any(m.text for m in messages):
        return turn.text
    return next((text for c in calls if c.role is Role.FINAL and (text := text_of(c.call.arguments))), turn.text)
