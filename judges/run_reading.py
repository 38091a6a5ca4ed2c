"""Facts of all runs of a trace: a run, or a turn of it, that did not change since the last pass is read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..schemas.trajectory import AgentRun, Trace
from .facts import RunFacts, TurnFacts, read_run, read_turn, setting_of, started_in
from .history import informed, said_by, told_before
from .memory import KnownRun, SuiteMemory
from .names import hands_back


def read_runs(trace: Trace, memory: SuiteMemory) -> Mapping[str, RunFacts]:
    """Facts of all runs of a trace, by run id."""
    by_id = {run.id: run for run in trace.runs}
    memory.runs = {run.id: _known(run, by_id, memory) for run in trace.runs}
    obtained = _obtained(memory.runs.values())
    for known in memory.runs.values():
        told = informed(known.told, obtained)
        if known.facts.informed != told:
            known.facts = replace(known.facts, informed=told, memo={})
    return {run_id: known.facts for run_id, known in memory.runs.items()}


def _obtained(runs: Iterable[KnownRun]) -> dict[str, bool]:
    """What runs said, and whether one that said it had obtained data."""
    obtained: dict[str, bool] = {}
    for known in sorted(runs, key=lambda known: known.succeeded):
        obtained |= dict.fromkeys(known.said, known.succeeded)
    return obtained


def _known(run: AgentRun, runs: Mapping[str, AgentRun], memory: SuiteMemory) -> KnownRun:
    before = memory.runs.get(run.id)
    above = runs[run.parent_id].name if run.parent_id in runs else ""
    if before is not None and before.run is run and before.answers == _answers(before.answers, runs):
        if before.setting.above == above:
            return before
        if run.span is not None and not _hands_back(run, before.setting.above, above):
            return replace(before, setting=replace(before.setting, above=above))
    setting = setting_of(run, above)
    started = [started_in(turn) for turn in run.turns]
    answers = _answers((i for ids in started for i in ids), runs)
    same = before.turns if before is not None and before.setting == setting else ()
    turns: list[TurnFacts] = []
    for position, turn in enumerate(run.turns):
        facts = same[position] if position < len(same) and same[position].turn is turn else None
        if before is not None and any((i, answers[i]) not in before.answers.items() for i in started[position]):
            facts = None
        turns.append(facts or read_turn(turn, run, position, runs, memory.texts, setting))
    succeeded = any(t.succeeded for t in turns)
    read = read_run(run, turns, setting)
    return KnownRun(run, setting, tuple(turns), answers, told_before(run), said_by(run), succeeded, read)


def _hands_back(run: AgentRun, *agents: str) -> bool:
    """Whether a call of the run gives the word back to one of these agents."""
    calls = [call for turn in run.turns for call in turn.tool_calls]
    return any(hands_back(call.name, call.arguments, agent) for agent in agents if agent for call in calls)


def _answers(runs: Iterable[str], by_id: Mapping[str, AgentRun]) -> dict[str, str | None]:
    return {i: by_id[i].answer if i in by_id else None for i in runs}
