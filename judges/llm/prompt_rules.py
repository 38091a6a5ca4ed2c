"""The system message: what the record is, the rules, how to answer, the criteria of the judges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tracejury.schemas.shown import shown
from tracejury.schemas.taxonomy import Severity

from . import prompt_text as text
from .case import ServiceDescription, Stage
from .criteria import Criteria, Rules


def system_text(
    rules: Rules,
    judges: Iterable[Criteria],
    stage: Stage,
    *,
    lookup: bool = False,
    group: bool = False,
    pictures: bool = False,
) -> str:
    """Rules and the criteria of all judges of one call.

    `lookup`: whether they may ask to see more; `group`: whether the record shows several runs; `pictures`: whether some
    stand behind it.
    """
    told = (f"# Several runs\n{text.GROUP}",) if group else ()
    shared = rules_text(rules, stage, lookup=lookup, pictures=pictures)
    return "\n\n".join((shared, *told, "# Judges", *map(criteria_text, judges)))


def rules_text(rules: Rules, stage: Stage, *, lookup: bool = False, pictures: bool = False) -> str:
    """The part that all judges share. A window's is the closing's, so that the one prompt begins as the other."""
    stages = {Stage.PLAN} if stage is Stage.PLAN else {Stage.WINDOW, Stage.CLOSING}
    principles = [f"- {p.text}" for p in rules.principles if stages & set(p.stages)]
    meanings = rules.plan_severities if stage is Stage.PLAN and rules.plan_severities else rules.severities
    severities = [f"{s}: {meanings[s]}" for s in (Severity.HIGH, Severity.MEDIUM, Severity.LOW)]
    rule = "\n".join(("# Rules", *principles, f"- Severity. {'. '.join(severities)}.", f"- {rules.verdict}"))
    answer = [text.ANSWER, text.PLAN_LABEL, text.FIELDS, text.SCORES]
    if stage is not Stage.PLAN:
        answer = [text.ANSWER, text.LABELS, text.FIELDS, text.SCORES, text.UNASKED]
    if lookup or stage is not Stage.PLAN:
        answer.insert(answer.index(text.FIELDS) + 1, text.CUT)
    if lookup:
        answer.append(text.LOOK)
    if pictures:
        answer.insert(answer.index(text.FIELDS) + 1, text.OF_PICTURE)
    seen = (text.PICTURES,) if pictures else ()
    return "\n\n".join((text.ROLE, text.RECORD, *seen, rule, "\n".join(answer)))


def described(system: str, description: ServiceDescription) -> str:
    """A system message with the description of the service, where the operator wrote it."""
    if not description.text or not description.by_operator:
        return system
    return f"{system}\n\n{text.SERVICE}\n{shown(description.text).strip()}"


def criteria_text(judge: Criteria) -> str:
    """The criteria of one judge. Categories that its scope does not mention are listed."""
    lines = [
        f"## {judge.code} {judge.name}" if judge.dimension else f"## {judge.name}",
        judge.definition,
        *(f"- {item}" for item in judge.in_scope),
    ]
    scope = " ".join(judge.in_scope)
    if rest := [c for c in judge.categories if c not in scope]:
        lines.append(
            f"Further categories: {', '.join(rest)}."
            if len(rest) < len(judge.categories)
            else f"Categories: {', '.join(rest)}."
        )
    if judge.out_of_scope:
        lines.append(f"Not: {'; '.join(judge.out_of_scope)}.")
    if judge.procedure:
        lines += ["Procedure:", *(f"{number}. {step}" for number, step in enumerate(judge.procedure, 1))]
    elif judge.needs == "plan":
        lines.append(text.NEEDS_PLAN)
    lines += _scale(judge)
    if judge.reasons:
        lines.append(f"Its `reasons`, instead of a sentence: {judge.reasons}.")
    if judge.instructions:
        lines.append("Also:" + ("\n" if "\n" in judge.instructions else " ") + judge.instructions)
    lines += [f"Example: {e.step} -> {e.finding}" for e in judge.examples]
    return "\n".join(lines)


_SHORT: Final = 80  # characters of a score's description that has no line of its own


def _scale(judge: Criteria) -> list[str]:
    """The scores, best first: in one line, or a line each where they are described at length."""
    scores = sorted(judge.scale.items(), reverse=True)
    if all(len(text) <= _SHORT for text in judge.scale.values()):
        return ["; ".join(f"{score} {text}" for score, text in scores)]
    return ["Scores:", *(f"{score}: {text}" for score, text in scores)]
