"""The items of an answer, each read by itself: what one gets wrong costs that one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from tracejury.judges.evidence import MAX_EVIDENCE
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Severity

from . import leniency
from .answer_types import Claim, Look, Score, Vocabulary

MAX_FINDINGS: Final = 200
"""Findings taken from one reply; later ones count as unsound."""

MAX_TEXT: Final = 2000
"""Longest explanation or reasons, in characters; the rest is cut."""

MAX_DECISIONS: Final = 1000
"""Decisions on provisional findings, and verdicts, taken from one reply."""

MAX_LOOKS: Final = 50
"""Requests to see more that are taken from one reply."""

MAX_WORDS: Final = 200
"""Longest words that are sought, in characters; the rest is cut."""


def claims(listed: Sequence[object], words: Vocabulary) -> tuple[tuple[Claim, ...], list[str]]:
    """The sound ones of the first `MAX_FINDINGS`, and a line on each other of them."""
    sound: list[Claim] = []
    problems: list[str] = []
    for number, item in enumerate(listed[:MAX_FINDINGS], 1):
        try:
            read = _Finding.model_validate(item, context=words)
        except ValidationError as error:
            problems.append(f"finding {number}: {_line(error)}")
        else:
            sound.append(Claim(**dict(read)))
    return tuple(sound), problems


def scores(listed: object, asked: Sequence[str], words: Vocabulary) -> tuple[dict[str, Score], dict[str, str]]:
    """Scores by judge's name, and why an asked judge has none: not mentioned, out of range, or scored twice unalike."""
    found: dict[str, Score] = {}
    unscored: dict[str, str] = {}
    names = leniency.spellings(words.judges)
    for written, item in _verdicts(listed):
        name = names.get(leniency.letters(written))
        if name not in asked or name is None:
            continue
        try:
            score = _score(item)
        except ValueError as error:
            unscored[name] = f"its score {error}"
            continue
        if found.setdefault(name, score).score != score.score:
            unscored[name] = "it has two different scores"
    missing = {
        name: unscored.get(name, "the answer has no score of it")
        for name in asked
        if name in unscored or name not in found
    }
    return {name: found[name] for name in asked if name not in missing}, missing


RunsAsked = Mapping[str, Sequence[str]]
"""Judges (names) that are asked about each run of a group, by the run's label."""


def score_key(label: str, judge: str) -> str:
    """The key of a run's score in an answer about several runs."""
    return f"{label} {judge}"


def scores_of_runs(listed: object, asked: RunsAsked, words: Vocabulary) -> tuple[dict[str, Score], dict[str, str]]:
    """The same of several runs, by `score_key`; a verdict that names no run is nobody's, unless one run is asked."""
    items = [item for item in listed[:MAX_DECISIONS] if isinstance(item, dict)] if isinstance(listed, list) else []
    found: dict[str, Score] = {}
    unscored: dict[str, str] = {}
    for label, judges in asked.items():
        own = [i for i in items if _run_of(i) == label.casefold() or (len(asked) == 1 and not _run_of(i))]
        given, lacking = scores(own, judges, words)
        found |= {score_key(label, judge): score for judge, score in given.items()}
        unscored |= {score_key(label, judge): why for judge, why in lacking.items()}
    return found, unscored


def _run_of(item: Mapping[str, object]) -> str:
    run = item.get("run")
    return leniency.letters(run).removeprefix("run") if isinstance(run, str) else ""


def decisions(confirmed: object, retracted: object) -> dict[int, bool]:
    """Number of a provisional finding to whether it stands; what is both confirmed and retracted is neither."""
    stands, falls = _numbers(confirmed), _numbers(retracted)
    return dict.fromkeys(stands - falls, True) | dict.fromkeys(falls - stands, False)


def looks(listed: object) -> tuple[Look, ...]:
    """What an answer asks to see, each once; an item that names neither a step nor words is passed over."""
    found: list[Look] = []
    for item in listed[:MAX_LOOKS] if isinstance(listed, list) else ():
        asked = item if isinstance(item, dict) else {"label": item}
        words = asked.get("find")
        find = " ".join(leniency.text(words, MAX_WORDS).split()) if isinstance(words, str) else ""
        labels = leniency.optional_labels(asked.get("label"))
        found += [Look(label, find) for label in labels or ("",) if label or find]
    return tuple(dict.fromkeys(found))


def _numbers(listed: object) -> set[int]:
    items = listed[:MAX_DECISIONS] if isinstance(listed, list) else ()
    found = (_number(item.get("number") if isinstance(item, dict) else item) for item in items)
    return {number for number in found if number is not None}


def _number(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_DECISIONS:
        return value
    return None


def _verdicts(listed: object) -> Iterator[tuple[str, object]]:
    """A list of verdicts, or a mapping from judge to verdict, as weaker models write it."""
    if isinstance(listed, dict):
        yield from islice(listed.items(), MAX_DECISIONS)
    elif isinstance(listed, list):
        for item in listed[:MAX_DECISIONS]:
            if isinstance(item, dict) and isinstance(item.get("judge"), str):
                yield item["judge"], item


def _score(item: object) -> Score:
    given = item if isinstance(item, dict) else {"score": item}
    if "score" not in given:
        raise ValueError("is missing")
    score = leniency.score(given["score"])
    reasons = given.get("reasons")
    said = leniency.text(reasons, MAX_TEXT) if isinstance(reasons, str) else ""
    if score is None and not said:
        raise ValueError('is null without "reasons"')
    return Score(score, said)


def _quote(value: object) -> str:
    quote = leniency.verbatim(value, MAX_EVIDENCE)
    if not quote:
        raise ValueError("must be a verbatim quote from the step")
    return quote


def _category(value: object, info: ValidationInfo) -> str:
    # A leaf of the taxonomy that is not one of these judges' is still one.
    return leniency.category(value, (*TRAIL_CATEGORIES, *_words(info).categories))


def _codes(value: object, info: ValidationInfo) -> tuple[str, ...]:
    return leniency.codes(value, _words(info).judges)


def _words(info: ValidationInfo) -> Vocabulary:
    words: Vocabulary = info.context  # type: ignore[assignment]  # `claims` hands it in
    return words


def _severity(value: object) -> object:
    return value.strip().upper() if isinstance(value, str) else value


class _Finding(BaseModel):
    """One finding of a reply; fields that are not known are passed over."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    labels: Annotated[tuple[str, ...], BeforeValidator(leniency.labels), Field(validation_alias="label")]
    quote: Annotated[str, BeforeValidator(_quote)]
    codes: Annotated[tuple[str, ...], BeforeValidator(_codes), Field(validation_alias="dimensions")]
    category: Annotated[str, BeforeValidator(_category)]
    severity: Annotated[Severity, BeforeValidator(_severity)]
    why: Annotated[str, BeforeValidator(lambda value: leniency.text(value, MAX_TEXT))]
    shown_at: Annotated[tuple[str, ...], BeforeValidator(leniency.optional_labels)] = ()
    also_at: Annotated[tuple[str, ...], BeforeValidator(leniency.optional_labels)] = ()
    material: Annotated[bool, BeforeValidator(lambda value: value is not False)] = True
    title: Annotated[str, BeforeValidator(leniency.title)] = ""
    cut: Annotated[bool, BeforeValidator(lambda value: value is True)] = False


def _line(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    return f'"{first["loc"][0]}" {message}' if first["loc"] else message
