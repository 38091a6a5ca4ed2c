"""Replies to checks: the JSON schema they are given, and how one is read.

A reply is hostile text: it is read as one JSON object, bounded, entry by entry. What is wrong about a check costs the
answers to that check, not to the others of the call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from tracejury.judges.evidence import MAX_EVIDENCE
from tracejury.judges.llm import leniency
from tracejury.judges.llm.answer import MAX_SUMMARY, json_object, list_of, object_of
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.schemas.shown import folded

from .check_types import Check
from .questions import CheckQuestion

CHECK_ANSWER_VERSION: Final = 4
"""Counts changes of the schema or of what is made of a reply; part of a check's version."""

MOST_LISTED: Final = 100
"""Items that a judge may list for one check; later ones are left out, and counted."""

MOST_ENTRIES: Final = 1000
"""Entries that are read of one list of a reply."""

MOST_ALSO: Final = 50
"""Entries of `also` that are taken from one reply."""

MOST_REASON: Final = 1000
"""Longest reason, in characters; the rest is cut."""

_TEXT: Final = {"type": "string"}
_MAYBE: Final = {"type": ["string", "null"]}

SCHEMA: Final[Mapping[str, Any]] = object_of(
    answers=list_of(
        object_of(
            check=_TEXT,
            item={"type": ["integer", "null"]},
            mention=_MAYBE,
            reason=_TEXT,
            answer=_TEXT,
            label=_MAYBE,
            quote=_MAYBE,
        )
    ),
    also=list_of(object_of(check=_TEXT, category=_TEXT, reason=_TEXT, label=_MAYBE, quote=_TEXT)),
    summary=_MAYBE,
)
"""One for all checks, in the subset that strict structured outputs allow: providers put it before the cached prefix."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a reply says of one item. `position`: its offset among the check's; None for a listed one: see `mention`."""

    position: int | None
    mention: str
    answer: str
    reason: str
    label: str
    quote: str


@dataclass(frozen=True, slots=True)
class AlsoSaid:
    """What a reply reports beside the items."""

    category: str
    reason: str
    label: str
    quote: str


@dataclass(frozen=True, slots=True)
class CheckReply:
    """One reply, read.

    `answers` and `also` by check; `unscored`: checks without usable answers, with one line why. `unsound`: entries that
    belong to no check asked, or could not be read; `problem`: a line on the first stray answer. `beyond`: listed items
    above the limit, by check. `partial`: by check, every answer that can be used, of unscored checks, too.
    """

    answers: Mapping[str, Sequence[Said]]
    also: Mapping[str, Sequence[AlsoSaid]]
    unscored: Mapping[str, str]
    beyond: Mapping[str, int]
    summary: str = ""
    unsound: int = 0
    problem: str = ""
    partial: Mapping[str, Sequence[Said]] = field(default_factory=dict)

    @property
    def lacks(self) -> str:
        """The problems for which the reply should be repaired, "" for none."""
        return "; ".join([*(f"{check}: {why}" for check, why in self.unscored.items()), *filter(None, [self.problem])])


def read(text: str, call: Sequence[CheckQuestion]) -> CheckReply:
    """Read the reply to a call.

    Raises:
        AnswerError: nothing in it can be used.
    """
    reply = json_object(text, "answers")
    if not isinstance(reply.get("answers"), list | dict):
        raise AnswerError('"answers" must be a list with one entry for each item')
    reader = _ReplyReader({question.asked.check.name: question for question in call})
    for entry in islice(_entries(reply["answers"]), MOST_ENTRIES):
        reader.take(entry)
    also = reply.get("also")
    for entry in also[:MOST_ENTRIES] if isinstance(also, list) else ():
        reader.take_also(entry)
    summary = reply.get("summary")
    answers = reader.answers()
    return CheckReply(
        answers={name: said for name, said in answers.items() if name not in reader.unscored},
        also=reader.also,
        unscored=reader.unscored,
        beyond=reader.beyond,
        summary=leniency.text(summary, MAX_SUMMARY) if isinstance(summary, str) else "",
        unsound=reader.unsound,
        problem=reader.problem,
        partial={name: [one for one in said if one not in reader.torn] for name, said in answers.items()},
    )


def _entries(listed: object) -> Iterator[object]:
    """A list of entries, or a mapping from check or item to some, as weaker models write it."""
    if not isinstance(listed, dict):
        yield from listed if isinstance(listed, list) else ()
        return
    for key, value in listed.items():
        of = {"item": key} if key.isdecimal() else {"check": key}
        for entry in value if isinstance(value, list) else (value,):
            yield of | {k: v for k, v in entry.items() if v is not None} if isinstance(entry, dict) else entry


@dataclass(slots=True)
class _ReplyReader:
    """Takes entries one by one. `unscored`: the first problem of each check; `torn`: answers that another denies."""

    questions: Mapping[str, CheckQuestion]
    unscored: dict[str, str] = field(default_factory=dict)
    also: dict[str, list[AlsoSaid]] = field(default_factory=dict)
    beyond: dict[str, int] = field(default_factory=dict)
    unsound: int = 0
    problem: str = ""
    torn: list[Said] = field(default_factory=list)
    _said: dict[str, dict[int | str, Said]] = field(default_factory=dict)

    def answers(self) -> dict[str, list[Said]]:
        """By check, in the order of its items; a check with items that nobody answered becomes unscored."""
        for name, question in self.questions.items():
            said = self._said.setdefault(name, {})
            missing = [str(number) for number in question.numbered if number not in said]
            if missing:
                more = ", …" if len(missing) > 10 else ""  # noqa: PLR2004 - enough to see which
                self._wrong(name, f"no answer to item {', '.join(missing[:10])}{more}")
        return {
            name: [said for _, said in sorted(given.items(), key=lambda pair: _order(pair[0]))]
            for name, given in self._said.items()
        }

    def take(self, entry: object) -> None:
        """One entry of `answers`."""
        if not isinstance(entry, dict):
            self._stray("an entry of `answers` is no object")
            return
        named = self._named(entry.get("check"))
        number = _number(entry.get("item"))
        question = named if named and named.lists else self._owner(number, named)
        if question is None:
            what = "an entry names no item that was asked about" if number is None else f"there is no item {number}"
            self._stray(what) if named is None else self._wrong(named.asked.check.name, what)
            return
        self._take(question, number, entry)

    def _owner(self, number: int | None, named: CheckQuestion | None) -> CheckQuestion | None:
        """The question that an entry answers: the one that has its number; without a number the only one possible."""
        possible = [named] if named else [*self.questions.values()]
        if number is not None:
            return next((q for q in possible if number in q.numbered), None)
        open_ = [q for q in possible if q.lists] or [q for q in possible if len(q.positions) == 1]
        return open_[0] if len(open_) == 1 else None

    def _take(self, question: CheckQuestion, number: int | None, entry: Mapping[str, Any]) -> None:
        check = question.asked.check
        mention = _verbatim(entry.get("mention")) if question.lists else ""
        number = number if number is not None or question.lists else question.first
        key: int | str = folded(mention) if question.lists or number is None else number
        where = f'"{mention[:40]}"' if question.lists else f"item {number}"
        word = scale_word(entry.get("answer"), check)
        if word is None:
            self._wrong(check.name, f"{where}: `answer` must be one of {', '.join(check.answers)}")
            return
        given = self._said.setdefault(check.name, {})
        if key not in given and question.lists and len(given) >= MOST_LISTED:
            self.beyond[check.name] = self.beyond.get(check.name, 0) + 1
            return
        position = None if question.lists or number is None else question.positions[number - question.first]
        said = Said(
            position,
            mention,
            word,
            _text(entry.get("reason")),
            _label(entry.get("label")),
            _verbatim(entry.get("quote")),
        )
        if (first := given.setdefault(key, said)).answer != word:
            self.torn.append(first)
            self._wrong(check.name, f"{where} is answered twice, unalike")

    def take_also(self, entry: object) -> None:
        """One entry of `also`; one that cannot be read costs itself only."""
        said = entry if isinstance(entry, dict) else {}
        question = self._named(said.get("check")) or self._only([q for q in self.questions.values() if _also(q)])
        reason, quote = _text(said.get("reason")), _verbatim(said.get("quote"))
        with suppress(ValueError):
            category = leniency.category(said.get("category"), [*_also(question)] if question else ())
            taken = self.also.setdefault(question.asked.check.name, []) if question else []
            if reason and quote and len(taken) < MOST_ALSO:
                taken.append(AlsoSaid(category, reason, _label(said.get("label")), quote))
                return
        self.unsound += 1

    def _named(self, value: object) -> CheckQuestion | None:
        """The question of the check of that name, in any spelling; the only one there is."""
        written = leniency.letters(value) if isinstance(value, str) else ""
        for name, question in self.questions.items():
            if written and written in {leniency.letters(name), leniency.letters(question.asked.check.title)}:
                return question
        return self._only([*self.questions.values()])

    @staticmethod
    def _only(questions: Sequence[CheckQuestion]) -> CheckQuestion | None:
        return questions[0] if len(questions) == 1 else None

    def _wrong(self, check: str, why: str) -> None:
        self.unscored.setdefault(check, why)

    def _stray(self, why: str) -> None:
        self.unsound += 1
        self.problem = self.problem or why


def _also(question: CheckQuestion) -> Mapping[str, str]:
    return question.asked.check.also


def _order(key: int | str) -> int:
    """Numbered items by number; listed ones stay as they come."""
    return key if isinstance(key, int) else 0


def scale_word(value: object, check: Check) -> str | None:
    """The word of the check's scale that was meant, None where there is none: letters' case and dots are forgiven."""
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    written = str(value).strip() if isinstance(value, str | int) else ""
    if isinstance(check.scale, int):
        return written if written in check.answers else None
    return {leniency.letters(word): word for word in check.answers}.get(leniency.letters(written))


def _number(value: object) -> int | None:
    """An item's number: 3, "3" or "item 3"."""
    if isinstance(value, str):
        written = value.lower().replace("item", "").strip(" #.:")
        value = int(written) if written.isascii() and written.isdecimal() and len(written) <= _DIGITS else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_DIGITS: Final = 6
"""Digits of an item's number; no list is that long."""


def _verbatim(value: object) -> str:
    return leniency.verbatim(value, MAX_EVIDENCE) if isinstance(value, str) else ""


def _text(value: object) -> str:
    return leniency.text(value, MOST_REASON) if isinstance(value, str) else ""


def _label(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
