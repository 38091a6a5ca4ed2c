"""The prompt about several runs of one trace: rules, their record, and which verdicts are wanted of which run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracejury.schemas.transcript import GroupRecord

from . import prompt_text as text
from .case import Case, Stage
from .client import Prompt, PromptMessage
from .criteria import Criteria
from .members import LlmJudges
from .prompt import cached
from .prompt_rules import system_text
from .record import fenced, listed_for


def group_prompt(
    cases: Sequence[Case],
    record: GroupRecord,
    panel: LlmJudges,
    asked: Mapping[str, Sequence[Criteria]],
    schema: Mapping[str, Any],
) -> Prompt:
    """One prompt for all cases, whose runs the record shows. `asked`: judges by the label of the run."""
    first = cases[0]
    listed = tuple(f for case in cases for f in case.provisional)
    together = replace(first, transcript=record.transcript, provisional=listed)
    full, rest = fenced(record.transcript, first.architecture, None, listed_for(together, None))
    rules = system_text(
        panel.criteria.rules, run_judges(panel), Stage.CLOSING, lookup=panel.rounds(first) > 0, group=True
    )
    question = _question(cases, record, asked, decide=bool(listed))
    return Prompt(
        (PromptMessage("system", rules, cache=True), *cached(full), PromptMessage("user", f"{rest}\n{question}")),
        schema,
        "answer",
        panel.max_answer_tokens,
        Stage.CLOSING.value,
        first.trace.service,
        first.trace.trace_id,
        first.run.id,
        tenant=first.trace.tenant,
    )


def run_judges(panel: LlmJudges) -> tuple[Criteria, ...]:
    """All that look at runs, but those of plans: the same for every group, so that prefix caches serve all."""
    return tuple(judge for judge in panel.judges if Stage.PLAN not in judge.stages)


def _question(
    cases: Sequence[Case], record: GroupRecord, asked: Mapping[str, Sequence[Criteria]], *, decide: bool
) -> str:
    codes = dict.fromkeys(judge.code for judges in asked.values() for judge in judges)
    wanted: dict[str, list[str]] = {}
    for label, judges in asked.items():
        wanted.setdefault(", ".join(judge.code for judge in judges), []).append(label)
    scores = "; ".join(f"for {_each(labels)}: {named}" for named, labels in wanted.items())
    runs = text.ALL_RUNS if len(asked) == len(record.labels) else ", ".join(asked)
    broken = [record.labels[case.run.id] for case in cases if case.run.status == "unfinished"]
    told = [text.TOGETHER.format(runs=runs, codes=", ".join(codes), scores=scores)]
    if broken:
        told.insert(0, f"{', '.join(broken)}: {text.BROKEN_OFF}")
    if decide:
        told.append(text.DECIDE.format(whose=""))
    return " ".join(told)


def _each(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"each of {', '.join(labels)}"
