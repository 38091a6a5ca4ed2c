"""A second look: steps of the record in full, for judges whose answer would rest on text that was cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeGuard

from tracejury.schemas.errors import OverBudgetError, PromptTooLongError
from tracejury.schemas.transcript import Transcript

from . import prompt_text as text
from .answer_types import Answer, Look
from .client import Prompt, PromptMessage, Reply
from .conversation import LOOKUP, Asking, AskResult
from .passages import occurs, passages, shares, shortened
from .prompt import MOST_REPLY
from .record import mark

MOST_CHARACTERS: Final = 36_000
"""Longest text that one round shows."""

MOST_LOOKS: Final = 8
"""Items that one round answers."""

_MOST_STEPS: Final = 12
"""Steps whose passages are shown for words that were sought in the whole record."""
_REFUSALS: Final = (OverBudgetError, PromptTooLongError)
_HEAD_LINE: Final = f"{text.HEAD} head of the record\n"


class LookOutcome(StrEnum):
    """The end of a second look."""

    ANSWERED = "answered"  # the judge has answered again
    NOTHING_NEW = "nothing-new"  # all that exists of what it asked for was shown before
    REFUSED = "refused"  # by the budget, or by the model as too long
    FAILED = "failed"  # no usable answer came


@dataclass(frozen=True, slots=True)
class LookedAgain:
    """An answer after all second looks. `prompt`: that it answers; `replies`: all that were received.

    `outcome`: None where nobody asked to look; `why`: the problem of a look that failed or was refused.
    """

    said: AskResult[Answer]
    prompt: Prompt
    outcome: LookOutcome | None = None
    why: str = ""
    replies: tuple[Reply, ...] = ()
    rounds: int = 0

    @property
    def note(self) -> str:
        """One line for the ledger, "" where nobody asked to look."""
        match self.outcome:
            case None:
                return ""
            case LookOutcome.ANSWERED:
                return f"after {self.rounds} second {'look' if self.rounds == 1 else 'looks'}"
            case LookOutcome.NOTHING_NEW:
                return "asked for a second look, but had been shown all of it"
        return f"a second look {'was refused' if self.outcome is LookOutcome.REFUSED else 'failed'}: {self.why}"


@dataclass
class Uncut:
    """The full record behind a question. `transcript`: its labels may be named; `shown`: what the question shows.

    `full` gives the same transcript with every text in full; `left`: rounds that are left; `room`: characters of one
    round.
    """

    transcript: Transcript
    shown: Mapping[str, str]
    full: Callable[[], Transcript]
    left: int
    room: int = MOST_CHARACTERS
    told: set[Look] = field(default_factory=set)

    def show(self, looks: Sequence[Look]) -> tuple[str, bool]:
        """What was asked for, fenced, as much as there is room for, and whether any of it is new; takes one round."""
        self.left -= 1
        items = [self._item(look) for look in looks[:MOST_LOOKS]]
        nonce = mark(self.transcript)
        lines = [f"=== record {nonce} ===\n"]
        lengths = shares([sum(map(len, texts)) for _, texts, _ in items], self.room)
        for number, ((said, texts, _), length) in enumerate(zip(items, lengths, strict=True), 1):
            lines.append(f"asked {number}: {said}\n")
            lines += map(shortened, texts, shares([len(each) for each in texts], length))
        if len(looks) > MOST_LOOKS:
            lines.append(f"not shown: {len(looks) - MOST_LOOKS} more; {MOST_LOOKS} are shown at a time\n")
        lines.append(f"=== end of record {nonce} ===\n")
        return "".join(lines), any(new for _, _, new in items)

    @cached_property
    def _texts(self) -> dict[str, str]:
        whole = self.full()
        known = {step.label for step in self.transcript.steps}
        steps = {step.label: _closed(step.text) for step in whole.steps if step.label in known}
        return {text.HEAD: _HEAD_LINE + _closed(whole.header), **steps}

    def _item(self, look: Look) -> tuple[str, list[str], bool]:
        """Our line, the texts under it, and whether they are new."""
        if look.label and look.label not in self._texts:
            return "no such step", [], False
        if look in self.told:
            return "shown above", [], False
        self.told.add(look)
        return self._searched(look) if look.find else self._whole(look.label)

    def _searched(self, look: Look) -> tuple[str, list[str], bool]:
        """The same of words to find."""
        labels = (look.label,) if look.label else tuple(self._texts)
        hidden = ((label, passages(self._texts[label], look.find, self._lines(label))) for label in labels)
        found = {label: part for label, part in hidden if part}
        if found:
            return f"the words occur at {', '.join(found)}", list(found.values())[:_MOST_STEPS], True
        if known := [label for label in labels if occurs(self._texts[label], look.find)]:
            return f"the words occur at {', '.join(known)} as shown before, and nowhere in what was cut", [], True
        if not look.label:
            return "the words occur nowhere in the record, searched in full", [], True
        said, texts, _ = self._whole(look.label)
        return f"the words do not occur in it; {said}", texts, True

    def _lines(self, label: str) -> frozenset[str]:
        """The lines of the step that the question shows."""
        return frozenset(self.shown.get(label, "").split("\n"))

    def _whole(self, label: str) -> tuple[str, list[str], bool]:
        full = self._texts[label]
        if _closed(self.shown.get(label, "")) == full.removeprefix(_HEAD_LINE):
            return f"{label} was shown whole", [], False
        return f"{label}, whole", [full], True


def look_again(
    prompt: Prompt, ask: Callable[[Prompt, bool], Asking[AskResult[Answer]]], uncut: Uncut
) -> Asking[LookedAgain]:
    """The answer to a prompt, after as many second looks as were asked for and are left.

    `ask` puts one prompt; its flag says whether the reply may ask to look. Of two answers the later counts, unless it
    cannot be read or leaves more judges unscored.

    Raises:
        OverBudgetError, PromptTooLongError: a look was refused, and there is no answer yet.
    """
    last = yield from ask(prompt, uncut.left > 0)
    best, replies, rounds = LookedAgain(last, prompt), last.replies, 0
    while last.answer is not None and last.used is not None and last.answer.looks and uncut.left:
        looks = last.answer.looks
        shown, new = uncut.show(looks)
        if not new and _says(best.said.answer):
            best = replace(best, outcome=best.outcome or LookOutcome.NOTHING_NEW)
            break
        rounds += 1
        prompt = follow_up(prompt, last.used.text, shown, last=not uncut.left)
        last = yield from ask(prompt, uncut.left > 0)
        replies += last.replies
        if last.answer is not None and last.answer.looks and not _says(last.answer):
            continue
        if _says(best.said.answer) and (problem := _problem(last, best.said.answer)):
            best = _standing(best, last, looks, problem)
            break
        if isinstance(last.error, _REFUSALS):
            raise last.error
        best = LookedAgain(last, prompt, LookOutcome.ANSWERED if last.answer else LookOutcome.FAILED)
    return replace(best, replies=replies, rounds=rounds)


def follow_up(prompt: Prompt, reply: str, shown: str, *, last: bool) -> Prompt:
    """The same conversation with what a reply asked to see; `last`: no look is left after this one."""
    question = f"{shown}{text.LOOKED} {text.LAST_LOOK if last else text.MORE_LOOKS}"
    more = (PromptMessage("assistant", reply[:MOST_REPLY]), PromptMessage("user", question))
    return replace(prompt, messages=(*prompt.messages, *more), purpose=LOOKUP)


def _says(answer: Answer | None) -> TypeGuard[Answer]:
    """Whether it is an answer by itself, and not only a request to look."""
    return answer is not None and bool(answer.claims or answer.scores or not answer.unscored)


def _problem(last: AskResult[Answer], before: Answer) -> str:
    """The reason why the answer before counts, "" where the last one does."""
    if last.answer is None:
        return last.failure
    return "it leaves more judges without a score" if len(last.answer.unscored) > len(before.unscored) else ""


def _standing(best: LookedAgain, last: AskResult[Answer], looks: Sequence[Look], why: str) -> LookedAgain:
    """The answer before a look that failed: its claims at steps that it wanted to see rest on cut text."""
    asked = {look.label for look in looks}
    answer = best.said.answer
    if answer is not None:
        claims = tuple(replace(c, cut=c.cut or not asked.isdisjoint((*c.labels, *c.shown_at))) for c in answer.claims)
        answer = replace(answer, claims=claims)
    ended = LookOutcome.REFUSED if isinstance(last.error, _REFUSALS) else LookOutcome.FAILED
    return replace(best, said=replace(best.said, answer=answer), outcome=ended, why=why)


def _closed(value: str) -> str:
    return value if value.endswith("\n") else f"{value}\n"
