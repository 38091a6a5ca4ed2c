"""Facts of agent runs that several detectors need, computed once a run.

The vocabulary: a call *accesses data* unless it hands over the final answer or only computes; a turn's *failure* is
that of a call or of the step around it; it is *read* by the first later turn whose new messages hold its text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from tracejury.schemas.normalized import Kind, ToolDefinition
from tracejury.schemas.text.code_blocks import code_of
from tracejury.schemas.trajectory import AgentRun, ToolCall, Turn, TurnKind

from .code_text import reaches_out
from .commands import edits, end_of, failed, runs_code, unapplied
from .exit_status import Ended
from .failure_reading import AHEAD, FailureReading, first_reading
from .failure_text import FailureKind, StepFailure, classify, error_page, gives_up, reported_failure
from .found_in_turns import FoundInTurns
from .history import opening_messages
from .names import Role, code_argument, hands_back, named, reads, role_of, text_of
from .plan_reading import may_plan, plans_before
from .refusals import declined, refusal_of
from .text import TextCache
from .wording import holds_any

T = TypeVar("T")

SURVEYS: Final = frozenset({TurnKind.PLAN, TurnKind.FACTS})
"""Turns that only take stock."""

_OWN: Final = frozenset({"assistant", "tool-call"})


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call, its role, its failure if it failed, and the kind of refusal if it was turned down (refusals.py).

    `end`: how the program ended that it ran, as far as its result tells; None of a call that started an agent.
    `tools`: those that its run was given.
    """

    call: ToolCall
    role: Role
    failure: StepFailure | None
    refusal: FailureKind | None = None
    end: Ended | None = None
    tools: tuple[ToolDefinition, ...] = ()
    memo: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, find: Callable[[CallFacts], T]) -> T:
        """What `find` finds in the call alone, computed at first use."""
        if find not in self.memo:
            self.memo[find] = find(self)
        found: T = self.memo[find]
        return found

    @property
    def runs_code(self) -> bool:
        """Whether it runs code or a command that the caller wrote."""
        return self.once(_runs_code)

    @property
    def ran(self) -> bool | None:
        """Whether it ran: a span shows it or a result came back; None where nobody knows."""
        return True if self.call.result is not None else self.call.executed


def _runs_code(call: CallFacts) -> bool:
    return runs_code(call.call.name, call.call.arguments)


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """One turn read.

    `text`: what the LLM wrote, else the answer that it handed over; `low`: that, bounded, in lower case.
    `failure`: of a call or the step; `failed_call` the call it was, None for the step. `read`: where it was read.
    `gave_up`: the line by which a sub-agent started here says that it obtained nothing. `attempted`: data access
    was tried; `looked_up`: some of it by a way to read, which a refused change is not; `succeeded`: some of it brought
    something. `answers`: it hands over the run's answer by a tool, or writes such a call out in code. `acting`: the
    agent acts here. `started`: ids of the runs that it started. `code`: what it wrote to be run and its framework ran.
    """

    turn: Turn
    position: int
    text: str
    low: str
    calls: tuple[CallFacts, ...]
    failure: StepFailure | None
    failed_call: ToolCall | None
    gave_up: str
    attempted: bool
    looked_up: bool
    succeeded: bool
    answers: bool
    acting: bool
    started: tuple[str, ...]
    code: str = ""
    read: FailureReading | None = None

    @property
    def span_id(self) -> str:
        """The LLM span's id ("" without one)."""
        return self.turn.llm.span_id if self.turn.llm else ""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One agent run read.

    `acts`: the acting turns, in order. `tools`: names of the tools and agents that it could use, without the one that
    hands over the answer. `settled`: its own span has ended, so that an absence in it means something. By position:
    `wants_data`, whether the latest plan before it (else the survey of facts, or a plan that opens what was said up to
    there) asks for data from outside; `plan_at`, where that plan stands (-1: nowhere). `troubled`: a step, a call or an
    agent that it started brought a failure, a refusal or nothing. `informed`: data observed before the run stands in
    its input (history.py).
    """

    run: AgentRun
    turns: tuple[TurnFacts, ...]
    acts: tuple[TurnFacts, ...]
    tools: tuple[str, ...]
    settled: bool
    wants_data: tuple[bool, ...]
    plan_at: tuple[int, ...]
    troubled: bool
    informed: bool = False
    found: dict[Hashable, FoundInTurns] = field(default_factory=dict, compare=False, repr=False)
    memo: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)
    """Answers already computed, by question and, of a turn, its position. Many rules ask the same."""

    def in_turns(self, find: Callable[[TurnFacts], Iterable[T]]) -> Iterable[tuple[TurnFacts, T]]:
        """All that `find` finds in each turn alone (`read` is no part of it), with the turn; found once while it stays.

        `find` is a function of a module: it is what the answers are known by.
        """
        if find not in self.found:
            self.found[find] = FoundInTurns(0, [], [])
        return self.found[find].look(self.turns, find)

    def once(self, find: Callable[[RunFacts], Iterable[T]]) -> tuple[T, ...]:
        """All that `find` finds in the run, computed at first use."""
        if find not in self.memo:
            self.memo[find] = tuple(find(self))
        found: tuple[T, ...] = self.memo[find]
        return found

    def plan_before(self, position: int) -> TurnFacts | None:
        """The latest planning turn before a position."""
        at = self.plan_at[position]
        return self.turns[at] if at >= 0 else None

    def texts_until(self, position: int) -> Sequence[str]:
        """Texts sent to the run up to a position: its goal and the new messages of its calls, not its own words.

        Calls that plan or survey facts are sent the agent's own earlier words as if a user had said them.
        """
        if "sent" not in self.memo:
            self.memo["sent"] = _sent(self.run)
        texts, until = self.memo["sent"]
        sent: Sequence[str] = texts[: until[position]]
        return sent

    def named_tools(self, low: str) -> list[str]:
        """Tools of the run that a lower-cased text names, in order of first mention."""
        return named(low, self.tools)


@dataclass(frozen=True, slots=True)
class RunSetting:
    """All of a run, besides a turn itself and the runs that it started, that the reading of the turn depends on.

    `given`: the tools and agents that the run was given. `tools`: see `RunFacts`. `enders`: how code writes a call that
    hands over the answer. `above`: the name of the run above.
    """

    given: tuple[object, ...]
    tools: tuple[str, ...]
    enders: tuple[str, ...]
    above: str


def setting_of(run: AgentRun, above: str) -> RunSetting:
    """What the turns of a run have in common."""
    own = (run.span.tools, run.span.tool_names) if run.span is not None else ((), ())
    enders = tuple(f"{t.name.lower()}(" for t in run.tools if role_of(t.name) is Role.FINAL)
    return RunSetting((run.tools, run.managed_agents, *own), _tools(run), enders, above)


def read_run(
    run: AgentRun,
    turns: Sequence[TurnFacts],
    setting: RunSetting,
    found: dict[Hashable, FoundInTurns],
    known: Sequence[TurnFacts] = (),
) -> RunFacts:
    """The facts of a run, whose turns were read; `found`: see `RunFacts.in_turns`.

    `known`: its first turns with where their failures were read, as far as no later turn can tell otherwise.
    """
    read = [*known, *(t if t.failure is None else _with_reading(t, t.failure, turns) for t in turns[len(known) :])]
    opening = found.setdefault(may_plan, FoundInTurns(0, [], [])).look(read, may_plan)
    plan_at, wants_data = plans_before([turn for turn, _ in opening], len(read), setting.tools)
    return RunFacts(
        run=run,
        turns=tuple(read),
        acts=tuple(t for t in read if t.acting),
        tools=setting.tools,
        settled=_is_over(run, setting.above),
        wants_data=wants_data,
        plan_at=plan_at,
        troubled=any(map(_is_troubled, read)),
        found=found,
    )


def _is_troubled(turn: TurnFacts) -> bool:
    if turn.failure is not None or turn.gave_up:
        return True
    return any(call.failure is not None or call.refusal is not None for call in turn.calls)


def _started_in(turn: Turn) -> tuple[str, ...]:
    called = [c.sub_run_id for c in turn.tool_calls if c.sub_run_id]
    return tuple(dict.fromkeys([*turn.sub_run_ids, *called])) if called else turn.sub_run_ids


def _is_over(run: AgentRun, above: str) -> bool:
    """Whether its own span has ended; of a run without one, whether it ends with words and asks for no more than that.

    It may give the word back to the agent above.
    """
    if run.span is not None:
        return not run.span.raw.pending
    last = run.turns[-1] if run.turns else None
    replied = last is not None and last.llm is not None and bool(last.text) and not last.llm.is_error
    if last is None or not replied or run.status != "ok":
        return False
    return all(hands_back(call.name, call.arguments, above) for call in last.tool_calls)


def _sent(run: AgentRun) -> tuple[list[str], list[int]]:
    """All texts sent to a run (see `texts_until`), and how many of them there are up to each position."""
    texts, until = [run.goal], list[int]()
    opening = opening_messages(run)
    for turn in run.turns:
        if turn.new_messages is opening:
            texts += [m.text for m in opening]  # words of an earlier run are no words of this one
        elif turn.kind not in SURVEYS:
            texts += [m.text for m in turn.new_messages if m.role not in _OWN]
        until.append(len(texts))
    return texts, until


def failed_calls(turn: TurnFacts) -> list[CallFacts]:
    """The calls of a turn that failed."""
    return [call for call in turn.calls if call.failure is not None]


def _tools(run: AgentRun) -> tuple[str, ...]:
    own = run.span.tool_names if run.span else ()
    names = [*(t.name for t in run.tools), *own, *run.managed_agents]
    names += [c.name for t in run.turns for c in t.tool_calls if c.executed]
    return tuple(n for n in dict.fromkeys(names) if n and role_of(n) is Role.ACCESS)[:MOST_TOOLS]


MOST_TOOLS: Final = 256
"""Names looked for in texts; a run with more tools than that is judged by the first ones."""


def read_turn(
    turn: Turn, run: AgentRun, position: int, runs: Mapping[str, AgentRun], texts: TextCache, setting: RunSetting
) -> TurnFacts:
    """One turn of the run, read, but not where its failure was read; `runs`: all of the trace, by id."""
    calls = tuple(read_call(call, turn, run) for call in turn.tool_calls)
    worst = next((c for c in calls if c.failure and not c.failure.page and c.role is not Role.FINAL), None)
    failure = worst.failure if worst else _step_failure(turn)
    text = _turn_text(turn, calls)
    code = code_of(text) if turn.wrappers or turn.observation else ""
    # A step raised nothing where the model's reply holds neither code nor a call: it could not be read.
    replied = turn.llm is not None and not turn.llm.is_error
    acted = code or turn.tool_calls or turn.tool_requests or turn.sub_run_ids
    if failure is not None and failure.kind is FailureKind.OTHER and replied and not acted:
        failure = replace(failure, kind=FailureKind.PARSE)
    started = _started_in(turn)
    subs = [runs[i] for i in started if i in runs]
    refusals = [line for sub in subs if (line := gives_up(sub.answer))]
    # A delegation is judged by what the agent answered, below.
    tried = [c for c in calls if c.role is Role.ACCESS and c.ran is not False and not c.call.sub_run_id]
    accesses = [c for c in tried if not hands_back(c.call.name, c.call.arguments, setting.above)]
    worked = any(c.failure is None and (c.call.result is not None or failure is None) for c in accesses)
    low = texts.low(text)
    answers = any(c.role is Role.FINAL for c in calls) or holds_any(low, setting.enders)
    # What code reads in the step that answers, nobody has looked at before answering.
    stopped = failure is not None and failure.kind is not FailureKind.PARSE
    # In a run without tools to access data with, code is how it does.
    ran = bool(code) and (not setting.tools or (reaches_out(code) and not answers))
    return TurnFacts(
        turn=turn,
        position=position,
        text=text,
        low=low,
        calls=calls,
        failure=failure,
        failed_call=worst.call if worst else None,
        gave_up=refusals[0] if refusals else "",
        attempted=bool(accesses or subs) or ran or stopped,
        looked_up=bool(subs) or ran or (stopped and not worst) or any(reads(c.call.name) for c in accesses),
        succeeded=worked or len(subs) > len(refusals) or (ran and failure is None),
        answers=answers,
        acting=turn.kind is TurnKind.ACT and turn.llm is not None,
        started=started,
        code=code,
    )


def _turn_text(turn: Turn, calls: tuple[CallFacts, ...]) -> str:
    """The text of a turn; of a call without message text, which is recorded as JSON, the answer it hands over."""
    messages = turn.llm.output_messages if turn.llm else ()
    if any(m.text for m in messages):
        return turn.text
    return next((text for c in calls if c.role is Role.FINAL and (text := text_of(c.call.arguments))), turn.text)


def read_call(call: ToolCall, turn: Turn, run: AgentRun) -> CallFacts:
    """One call of a turn of the run, read."""
    failure = None
    # What a sub-agent's answer tells of went wrong inside its run.
    end = end_of(call.name, call.arguments, call.result) if call.result and not call.sub_run_id else None
    if call.error is not None:
        failure = StepFailure(classify(call.error), call.error)
    elif call.result:
        failure = _failure_of(call, call.result, end) or declined(call.name, call.result)
    told = failure
    if failure is None and call.result is None and call.executed is not True:
        told = _step_failure(turn)  # the step in which the call was to be made
    refusal = refusal_of(call, told, turn, run)
    if refusal is FailureKind.POLICY and told is not failure:
        refusal = None
    if told is not None and refusal is not None:
        failure = replace(told, kind=refusal)
    return CallFacts(call, role_of(call.name), failure, refusal, end, run.tools)


def _failure_of(call: ToolCall, result: str, end: Ended | None) -> StepFailure | None:
    """The failure that a result tells of: how the program ended that the call ran, else what the result says."""
    if end is None and edits(call.name, call.arguments) and unapplied(result):
        return StepFailure(FailureKind.EXIT, result)
    if end is None:
        return reported_failure(result) or error_page(result)
    if not failed(code_argument(call.arguments), end):
        return None
    return StepFailure(
        FailureKind.EXIT if end.framed or runs_code(call.name, call.arguments) else classify(result), result
    )


def _step_failure(turn: Turn) -> StepFailure | None:
    for span in turn.wrappers:
        if span.is_error and span.kind in (Kind.CHAIN, Kind.OTHER):
            text = span.exceptions[-1].message if span.exceptions else span.raw.status_message
            if text:
                return StepFailure(classify(text), text)
    return None


def _with_reading(facts: TurnFacts, failure: StepFailure, turns: Sequence[TurnFacts]) -> TurnFacts:
    result = facts.failed_call.result if facts.failed_call is not None else None
    told = [failure.text, *([result] if result else [])]
    later = [(t.position, t.turn) for t in turns[facts.position + 1 : facts.position + 1 + AHEAD]]
    return replace(facts, read=first_reading(told, later))
