"""A case as prompts: our rules, the fenced record, the question. Prefixes stay the same while a run goes on.

The order is rules (constant for a panel), record (append-only), question. The record is dealt out in blocks that close
at a fixed size, so that a later prompt repeats all full blocks of an earlier one, message by message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tracejury.schemas.shown import shown
from tracejury.schemas.transcript import PlanView, Step

from . import prompt_text as text
from .case import Case, Stage
from .client import Prompt, PromptMessage
from .criteria import Criteria
from .members import LlmJudges
from .picture import Picture, chosen
from .prompt_rules import criteria_text, described, rules_text, system_text
from .record import AGENT, Part, fenced, listed_for

__all__ = ["MOST_REPLY", "Part", "cached", "ending", "prompts", "repair"]

MOST_REPLY: Final = 20_000
"""Characters of an unusable reply that are shown to its author again."""


def prompts(
    case: Case, panel: LlmJudges, *, schema: Mapping[str, Any], schema_name: str = "answer", part: Part | None = None
) -> tuple[Prompt, ...]:
    """The prompts of a case.

    PLAN: one a plan view, in order; they do not depend on what else is known of the run. WINDOW and CLOSING: one for
    the judges of the case that are asked at that stage (those of plans are not; put them at PLAN). In separate mode one
    a judge of these instead (PLAN: for each view, one a judge). None where no judge is asked.

    Raises:
        KeyError: a judge of the case does not sit in the panel.
    """
    judges = tuple(j for j in map(panel.judge, case.judges) if case.stage in j.stages)
    if not judges:
        return ()
    if case.stage is Stage.PLAN:
        made = [
            p for view in case.plans for p in _of(replace(_bare(case), transcript=view.transcript), panel, judges, view)
        ]
    else:
        made = list(_of(case, panel, judges, None, part))
    return tuple(
        Prompt(
            messages,
            schema,
            schema_name,
            panel.max_answer_tokens,
            case.stage.value,
            case.trace.service,
            case.trace.trace_id,
            case.run.id,
            tenant=case.trace.tenant,
        )
        for messages in made
    )


def repair(prompt: Prompt, reply: str, error: str) -> Prompt:
    """The same conversation once more, with the unusable reply and what is wrong with it."""
    said = reply[:MOST_REPLY] if reply.strip() else "(empty)"
    wrong = " ".join(shown(error[:2000]).split())[:500].rstrip(".")
    more = (PromptMessage("assistant", said), PromptMessage("user", text.REPAIR.format(error=wrong)))
    return replace(prompt, messages=(*prompt.messages, *more))


def _bare(case: Case) -> Case:
    return replace(case, provisional=(), detected=(), first="")


def _of(
    case: Case, panel: LlmJudges, judges: tuple[Criteria, ...], view: PlanView | None = None, part: Part | None = None
) -> Iterator[tuple[PromptMessage, ...]]:
    lookup = panel.rounds(case) > 0
    full, rest = fenced(case.transcript, case.description, part, listed_for(case, part))
    pictures = chosen(case.pictures, "".join((*full, rest)))
    if panel.mode == "panel":
        seated = judges if case.stage is Stage.PLAN else _run_judges(case, panel)
        rules = system_text(panel.criteria.rules, seated, case.stage, lookup=lookup, pictures=bool(pictures))
        system = PromptMessage("system", described(rules, case.description), cache=True)
        question = _question(case, judges, view, part)
        yield system, *cached(full), *ending(rest, f"\n{question}", pictures)
        return
    rules = rules_text(panel.criteria.rules, case.stage, lookup=lookup, pictures=bool(pictures))
    system = PromptMessage("system", described(rules, case.description), cache=True)
    shared = (*cached(full), PromptMessage("user", rest, cache=True, pictures=pictures))
    for judge in judges:
        question = _question(case, (judge,), view, part)
        yield system, *shared, PromptMessage("user", f"{criteria_text(judge)}\n\n{question}")


def _run_judges(case: Case, panel: LlmJudges) -> tuple[Criteria, ...]:
    """All that look at such a run at some time: the closing prompt then begins as the windows' did."""
    return tuple(j for j in panel.of_run(case.run.role) if Stage.PLAN not in j.stages)


def cached(blocks: Sequence[str]) -> list[PromptMessage]:
    """The full blocks of a record as messages; the last of them and what runs of the agent share have the mark."""
    return [PromptMessage("user", b, cache=i == len(blocks) or b.startswith(AGENT)) for i, b in enumerate(blocks, 1)]


def ending(rest: str, question: str, pictures: tuple[Picture, ...]) -> tuple[PromptMessage, ...]:
    """The end of a record and the question about it, with the pictures between them."""
    if not pictures:
        return (PromptMessage("user", f"{rest}{question}"),)
    return PromptMessage("user", rest, pictures=pictures), PromptMessage("user", question)


def _question(case: Case, judges: Sequence[Criteria], view: PlanView | None, part: Part | None) -> str:
    codes = ", ".join(j.code for j in judges)
    scores = f"verdicts for {codes}"
    if view is not None:
        trigger = text.TRIGGER if view.replan else ""
        return text.PLAN.format(label=view.label, codes=codes, scores=scores, trigger=trigger)
    span = _span(part.chapter.steps if part else case.transcript.steps, _first(case, part))
    if part and not part.last:
        return text.PART.format(number=part.number, count=part.count, span=span, codes=codes)
    if case.stage is Stage.WINDOW:
        return text.WINDOW.format(span=span, codes=codes)
    end = text.BROKEN_OFF if case.run.status == "unfinished" else text.OVER
    asked = text.CLOSING.format(end=end, span=span, codes=codes, scores=scores)
    if not case.provisional:
        return asked
    whole = {j.name for j in judges} >= {f.judge for f in case.provisional}
    return f"{asked} {text.DECIDE.format(whose='' if whole else text.WHOSE.format(codes=codes))}"


def _first(case: Case, part: Part | None) -> str:
    """The label from which on findings are wanted: of a part, none that the part before has shown."""
    if part is None or (case.first and _number(case.first) > _number(part.chapter.fresh)):
        return case.first
    return part.chapter.fresh


def _number(label: str) -> int:
    return int(label[1:]) if label[1:].isdecimal() else 0


def _span(steps: Sequence[Step], first: str) -> str:
    if not steps:
        return "the run's steps"
    begin, end = first or steps[0].label, steps[-1].label
    return begin if begin == end else f"{begin} to {end}"
