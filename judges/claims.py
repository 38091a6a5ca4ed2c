"""Statements of a turn, and whether they need support: admissions, questions and restatements do not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from .abstention import abstains, asks, may_abstain, tokens
from .facts import RunFacts, TurnFacts
from .names import Role
from .quoting import values_of
from .wording import ASSUMPTION, RECALL, SIMULATION, holds_any

_WRITTEN_ANSWER: Final = re.compile(r"(?:final_answer|finish|submit)\(\s{0,9}(?:\w{1,20}=)?f?(?:\"{3}|'{3}|[\"'])")
_HANDED_OVER: Final = ("final_answer(", "finish(", "submit(")
"""Of these `_WRITTEN_ANSWER` needs one; they are found faster."""
_FENCE: Final = "```"
_ANSWER_READ: Final = 4000


def answer_text(turn: TurnFacts) -> str:
    """The answer that a turn hands over by a tool, "" where it hands over none."""
    for call in turn.calls:
        arguments = call.call.arguments
        if call.role is Role.FINAL:
            return "\n".join(str(v) for v in values_of(arguments) if v is not None)
    return ""


def statement(turn: TurnFacts) -> str:
    """The statement of a turn: the answer that it hands over, by a tool or in code, else its text."""
    handed = answer_text(turn)
    if handed or _FENCE not in turn.text:
        return handed or turn.text
    found = _WRITTEN_ANSWER.search(turn.text) if holds_any(turn.text, _HANDED_OVER) else None
    if found is None:
        return ""
    quote = found.group(0)[-1]
    return turn.text[found.end() : found.end() + _ANSWER_READ].partition(quote)[0]


def gives_up_honestly(facts: RunFacts, turn: TurnFacts) -> bool:
    """Whether a turn admits that nothing was obtained, and claims nothing."""
    return facts.of_turn(_gives_up, turn)


def needs_no_support(facts: RunFacts, turn: TurnFacts) -> bool:
    """Whether a turn's statement needs no look-up: it admits a failure, asks, or restates its input."""
    return gives_up_honestly(facts, turn) or facts.of_turn(_asks_or_restates, turn)


_MOST_SEEN: Final = 300_000
"""Characters of a run's input that are searched for one turn: the task, and the latest messages."""


def _seen(facts: RunFacts, turn: TurnFacts) -> list[str]:
    """The texts that a turn's statement may come from."""
    seen = facts.texts_until(turn.position)
    texts, left = list(seen[:1]), _MOST_SEEN
    for text in islice(reversed(seen), len(seen) - 1):
        texts.append(text[:left])
        left -= len(text)
        if left <= 0:
            break
    return texts


def _gives_up(facts: RunFacts, turn: TurnFacts) -> bool:
    text = statement(turn)
    return bool(text.strip()) and may_abstain(text) and abstains(text, _seen(facts, turn))


def _asks_or_restates(facts: RunFacts, turn: TurnFacts) -> bool:
    text, seen = statement(turn), _seen(facts, turn)
    return bool(text.strip()) and (asks(text, seen) or _restates(turn, text, seen))


def _restates(turn: TurnFacts, text: str, seen: Sequence[str]) -> bool:
    """Whether all names and numbers of a text were seen, or result from written sums of such."""
    if len(text) > _LONG or holds_any(turn.low, _UNSUPPORTED):
        return False
    found = list(tokens(text))
    known = [t for t in found if len(t) > 1 and any(t in s for s in seen)]
    if not known or len(found) - len(known) > _MOST_RESULTS:
        return False
    computed = _results(turn.text, seen)
    return all(t in known or t in computed for t in found)


def states_unseen_number(facts: RunFacts, turn: TurnFacts) -> bool:
    """Whether a turn states a number that no text which it was sent holds, in whatever notation."""
    numbers = {_digits(n) for n in _NUMBER.findall(statement(turn)[:_ANSWER_READ])}
    return bool(numbers) and not numbers <= {_digits(n) for s in _seen(facts, turn) for n in _NUMBER.findall(s)}


def _digits(number: str) -> str:
    return "".join(ch for ch in number if ch.isdigit()).lstrip("0")


_NUMBER: Final = re.compile(r"\d[\d.,]{0,20}\d")

_LONG: Final = 600
_MOST_RESULTS: Final = 2
_UNSUPPORTED: Final = (*RECALL, *ASSUMPTION, *SIMULATION)
_SUM: Final = re.compile(r"(\d[\d.,]{0,20})\s?[-+*/\u00d7\u00f7\u2212]\s?(\d[\d.,]{0,20})\s?=\s?(\d[\d.,]{0,20})")


def _results(text: str, seen: Sequence[str]) -> set[str]:
    """Results of the sums that a text writes down over numbers that were seen."""
    sums = _SUM.findall(text[:_ANSWER_READ])
    return {c.rstrip(".,") for a, b, c in sums if all(any(n.rstrip(".,") in s for s in seen) for n in (a, b))}
