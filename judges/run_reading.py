"""Facts of all runs of a trace: a run, or a turn of it, that did not change since the last pass is read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tracejury.schemas.prefixes import shared_prefix
from tracejury.schemas.trajectory import AgentRun, Trace

from .facts import RunFacts, RunSetting, TurnFacts, read_run, read_turn, setting_of
from .failure_reading import AHEAD
from .history import informed, told_before
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
    same = before.turns if before is not None and _reads_alike(run, before.setting, setting) else ()
    changed = {i for i, told in before.answers.items() if told != _answer(i, runs)} if same and before else set[str]()
    turns: list[TurnFacts] = []
    for position, turn in enumerate(run.turns):
        facts = same[position] if position < len(same) and same[position].turn is turn else None
        if facts is None or (changed and not changed.isdisjoint(facts.started)):
            facts = read_turn(turn, run, position, runs, memory.texts, setting)
        turns.append(facts)
    answers = _answers((i for t in turns for i in t.started), runs)
    succeeded = any(t.succeeded for t in turns)
    if before is not None and same:
        kept = shared_prefix(same, turns)
        found = {find: known.until(kept) for find, known in before.facts.found.items()}
        read = read_run(run, turns, setting, found, before.facts.turns[: max(kept - AHEAD, 0)])
    else:
        read = read_run(run, turns, setting, {})
    said = filter(None, (run.answer.strip(), *(text for _, text in read.in_turns(_said))))
    return KnownRun(run, setting, tuple(turns), answers, told_before(run), tuple(said), succeeded, read)


def _said(turn: TurnFacts) -> tuple[str, ...]:
    text = turn.turn.text.strip()
    return (text,) if text else ()


def _reads_alike(run: AgentRun, one: RunSetting, other: RunSetting) -> bool:
    """Whether turns of the run read the same in both settings."""
    if one.above != other.above and _hands_back(run, one.above, other.above):
        return False
    return replace(one, above=other.above) == other


def _hands_back(run: AgentRun, *agents: str) -> bool:
    """Whether a call of the run gives the word back to one of these agents."""
    calls = [call for turn in run.turns for call in turn.tool_calls]
    return any(hands_back(call.name, call.arguments, agent) for agent in agents if agent for call in calls)


def _answers(runs: Iterable[str], by_id: Mapping[str, AgentRun]) -> dict[str, str | None]:
    return {i: _answer(i, by_id) for i in runs}


def _answer(run_id: str, by_id: Mapping[str, AgentRun]) -> str | None:
    return by_id[run_id].answer if run_id in by_id else None
