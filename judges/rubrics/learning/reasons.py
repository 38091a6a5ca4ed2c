"""Why a session is good or bad, as labelled: a check that is made for the session (SCOPE, step 2; SPUR, step 1).

Areas are a model's words about sessions that may be hostile: they are items, which are data, and never the question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.formula import Ratio
from tracejury.judges.checks.how_asked import HowAsked
from tracejury.judges.checks.item_source import ItemSource, none_found
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.rubrics.rubric_set import Area, Label, SessionKey
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.shown import shown_line

from .training import CREATIVE, TOP_P, Learning

NAME: Final = "session-reasons"
OF_SPUR: Final = 3
"""Reasons of a session that SPUR asks for."""
MOST_REASON: Final = 600
"""Characters of a reason that are read on."""

_AREAS: Final = ItemSource("areas", "no areas", none_found)
_WHOLE: Final = CheckItem("The session as a whole.")
_ONLY: Final = "reason"
_QUESTION: Final = """\
People who know what happened labelled this session: it is {word}. {meaning} Take the label as given, and find out why \
it is so. Is there such a reason by what the item names? Report {count} in `also`: `reason` says in a sentence or two \
what was done, said or left out, and why the session is {word} through it, in words that fit other sessions, too, \
without names, numbers, values or labels of this one; `label` and `quote` are of the step that shows it."""

_BEST: Final = "by what the item names there is such a reason, and `also` has it"
_COUNT: Final = {"scope": "each reason once", "spur": f"the {OF_SPUR} weightiest reasons"}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one session has its label. `area`: the name of its area, "" where there are none."""

    text: str
    session: SessionKey
    label: Label
    area: str = ""


def reasons_check(label: Label, areas: Sequence[Area], how: Learning) -> AskedCheck:
    """The check that has the reasons of a session reported beside its items, which are the areas."""
    asked = _QUESTION.format(word=how.word(label), meaning=how.meaning(label), count=_COUNT[how.method])
    by = {_category(number): f"a reason by what item {number} names" for number in range(1, len(areas) + 1)}
    check = Check(
        name=NAME,
        measure="R",
        title="Reasons",
        definition="Why the session has its label.",
        subject="session",
        items=_AREAS,
        question=asked,
        best=_BEST,
        category="no reason",
        also=by or {_ONLY: "a reason"},
        reports=False,
        quoted=False,
        explain="Reasons are learned from.",
    )
    items = tuple(CheckItem(f"{area.name}: {area.text}") for area in areas) or (_WHOLE,)
    return AskedCheck(check, items)


def reasons_asked(how: Learning) -> HowAsked:
    """How such a check is asked."""
    formulas, versions = {NAME: lambda _: Ratio(0, 0)}, {NAME: ""}
    asked = HowAsked(formulas, versions, how.max_tokens)
    return replace(asked, temperature=CREATIVE, top_p=TOP_P) if how.sampling else asked


def reasons_of(
    session: SessionKey, label: Label, areas: Sequence[Area], said: Deliberation, how: Learning, counts: Counter[str]
) -> list[Reason]:
    """The reasons whose quotes stand, in the order of their steps."""
    named = {_category(number): area.name for number, area in enumerate(areas, 1)}
    found = [
        Reason(shown_line(one.explanation, MOST_REASON), session, label, named.get(one.category, ""))
        for one in said.findings
    ]
    most = OF_SPUR if how.method == "spur" else len(found)
    counts["reasons-unquoted"] += said.dropped.get("no-evidence", 0)
    counts["reasons-unreadable"] += said.dropped.get("unsound", 0)
    counts["reasons-surplus"] += len(found[most:])
    return found[:most]


def _category(number: int) -> str:
    return f"area {number}"
