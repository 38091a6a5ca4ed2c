"""Turns that write a request down for a tool or agent which is never called.

By structure: code that only prints words which stand in it, in a turn that names a tool, while nothing was called and
the next step does not call it either. A turn without code that announces a call in words is a candidate: the words
stand before the name in one clause, without a denial. A key's value in a structured reply is data, and what the
framework decides after it is not the model's omission.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.echoes import only_prints
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.names import Role, code_argument, find_name, named
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.judges.structured import prose
from tracejury.judges.text import bounded
from tracejury.judges.wording import DENIAL, INTENT, first_of
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold

from .plans import called

_PLAN: Final = re.compile(r"\W{0,20}(?:(?:here is|here's|this is) )?(?:(?:my|the|our|a) )?(?:\w{1,20} )?plan\b")
"""A turn that opens as a plan announces calls of later turns."""

_CLAUSE: Final = re.compile(r"[^.,;:!?\n\u3002\uff0c]{1,600}")


def announces_without_calling(facts: RunFacts, turn: TurnFacts) -> bool:
    """Whether an acting turn says that it will use a tool or agent, runs none, and hands over no answer."""
    if turn.attempted or turn.answers or turn.failure is not None or not turn.turn.closed or _PLAN.match(turn.low):
        return False
    return bool(facts.of_turn(_announced, turn))


def _codes(turn: TurnFacts) -> list[str]:
    """The pieces of code that a turn has run by its framework, "" for a call of anything else."""
    codes = [turn.code] if turn.code else []
    return codes + [code_argument(c.call.arguments) if c.role is Role.COMPUTE else "" for c in turn.calls]


def _announced(facts: RunFacts, turn: TurnFacts) -> str:
    """The first tool that a turn names as the next, "" for none."""
    codes = _codes(turn)
    if not all(map(only_prints, codes)):
        return ""
    written = facts.named_tools("\n".join(codes).lower())
    words = bounded(prose(turn.text)).lower().replace("\u2019", "'")
    clauses = (found.group() for found in _CLAUSE.finditer(words)) if facts.named_tools(words) else ()
    tools = [name for name in facts.tools if name.lower() in words]
    announced = (name for clause in clauses if (name := _next(clause, tools)))
    return next(chain(announced, filter(None, written)), "")


def _next(clause: str, tools: Sequence[str]) -> str:
    """Which of these tools a clause announces, "" for none."""
    for name in named(clause, tools)[:1]:
        before = clause[: find_name(clause, name.lower())]
        at = first_of(before, INTENT)
        return name if at >= 0 and first_of(before[at:], DENIAL) < 0 else ""
    return ""


def _announcing(facts: RunFacts) -> Iterator[tuple[int, TurnFacts, str]]:
    """Turns that announce a call, each with its place among the acting turns, and the tool."""
    # The last acting turn of a run is its answer: naming a tool there is a report, not an announcement.
    announcing = (one for one in enumerate(facts.acts[:-1]) if announces_without_calling(facts, one[1]))
    return ((at, turn, facts.of_turn(_announced, turn)) for at, turn in announcing)


def _announcements(facts: RunFacts) -> Iterator[tuple[int, TurnFacts, str]]:
    """Those that the next acting turn does not carry out."""
    for at, turn, name in facts.once(_announcing):
        following = facts.acts[at + 1]
        if name not in called(following) and f"{name.lower()}(" not in following.code.lower():
            yield at, turn, name


def _repeated(facts: RunFacts) -> Iterator[tuple[TurnFacts, str, tuple[str, ...]]]:
    """Each with its tool, and the next one as its repeat where that follows at once, for the same tool."""
    found = list(_announcements(facts))
    for (at, turn, name), after in zip_longest(found, found[1:]):
        repeats = after is not None and (after[0], after[2]) == (at + 1, name)
        yield turn, name, (after[1].span_id,) if repeats else ()


def _hit(turn: TurnFacts, name: str, text: str, repeats: tuple[str, ...]) -> Hit:
    at = max(0, find_name(turn.text.lower(), name.lower()))
    confidence = None if _codes(turn) else _WORDED
    return Hit(turn.span_id, quote(turn.text, at), text.format(name=name), also_at=repeats, confidence=confidence)


_WORDED: Final = 0.8 * threshold(DEFAULT_PROFILE)


def _first(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, name, repeats in islice(_repeated(facts), 1):
        yield _hit(turn, name, "Announces a call of {name}, but calls nothing, so the step brings nothing.", repeats)


def _again(facts: RunFacts, _: Context) -> Iterator[Hit]:
    text = "Announces a call of {name} and calls nothing, as an earlier turn of this run did already."
    for turn, name, repeats in islice(_repeated(facts), 1, None):
        yield _hit(turn, name, text, repeats)


RULES: Final = (
    rule(
        "intent-without-call",
        "Tool Selection Errors",
        "TS TC EE",
        "HIGH",
        _first,
        version=5,
        of_absence=True,
        title="Announced call that was not made",
        scope="run",
    ),
    rule(
        "intent-without-call-again",
        "Task Orchestration",
        "EE TS TC",
        "MEDIUM",
        _again,
        version=5,
        of_absence=True,
        title="Announced call that was not made, again",
        scope="run",
    ),
)
