"""Leniency towards a model's answer: spellings of labels, categories and codes, never a guess."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from tracejury.schemas.shown import shown

MOST_LABELS: Final = 50
"""Labels taken from one field; a range is counted out up to here."""
MAX_TITLE: Final = 160
"""Longest title, in characters."""
_SENTENCE: Final = re.compile(r"[.;!?](?= )|[\u3002\uff1b\uff01\uff1f]")
MOST_READ: Final = 400
"""Characters of a title that are read; what is not seen takes some of them."""

_LABELS: Final = re.compile(
    r"[\[(]?(?:steps? )?s?\d{1,6}(?:(?: ?(?:[-,;/+&\u2013]|to|and) ?)(?:steps? )?s?\d{1,6}){0,50}[\])]?"
)
_PART: Final = re.compile(r"(-|\u2013|to )? ?(?:steps? )?s?(\d{1,6})")


def verbatim(value: object, length: int) -> str:
    """A string as it was written, but for lone surrogates, at most `length` characters.

    Raises:
        ValueError: it is no string.
    """
    if not isinstance(value, str):
        raise ValueError("must be a string")  # noqa: TRY004 - pydantic turns a ValueError into a line on the field
    return value[:length].encode("utf-8", "replace").decode().strip()


def text(value: object, length: int) -> str:
    """A string as it may be stored and shown: nothing hidden in it, at most `length` characters.

    Raises:
        ValueError: it is no string.
    """
    return shown(verbatim(value, length))[:length].strip()


def title(value: object) -> str:
    """A short phrase on one line; "" for what is no text: a finding does without.

    A long one ends with its last whole sentence, or at a word with a mark that it goes on.
    """
    if not isinstance(value, str):
        return ""
    phrase = " ".join(text(value, MOST_READ).split()).rstrip(".")
    if len(phrase) <= MAX_TITLE:
        return phrase
    if ends := [match.start() for match in _SENTENCE.finditer(phrase, 0, MAX_TITLE)]:
        return phrase[: ends[-1]]
    begin = phrase[: MAX_TITLE - 1]
    return f"{begin.rpartition(' ')[0] or begin}…"


def labels(value: object) -> tuple[str, ...]:
    """Step labels as written: "S3", "s3", "Step S3", 3, "S3-S5" (counted out) or "S3, S7".

    Raises:
        ValueError: it names no step.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6:
        return (f"S{value}",)
    written = " ".join(value[:400].lower().split()) if isinstance(value, str) else ""
    if not _LABELS.fullmatch(written):
        raise ValueError("must be the label of a step, such as S3")
    return tuple(dict.fromkeys(islice(_counted(written), MOST_LABELS)))


def _counted(written: str) -> Iterable[str]:
    last = 0
    for part in _PART.finditer(written):
        number = int(part[2])
        if part[1]:
            yield from (f"S{n}" for n in range(last + 1, min(number, last + MOST_LABELS)))
        yield f"S{number}"
        last = number


def optional_labels(value: object) -> tuple[str, ...]:
    """The labels of one field or list, without what is none: a wrong second anchor costs no finding."""
    found: list[str] = []
    for item in value[:MOST_LABELS] if isinstance(value, list) else (value,):
        with suppress(ValueError):
            found += labels(item)
    return tuple(dict.fromkeys(found))[:MOST_LABELS]


def category(value: object, categories: Sequence[str]) -> str:
    """The category of that spelling, verbatim; letters' case, punctuation and a plural are forgiven.

    Raises:
        ValueError: there is none.
    """
    if isinstance(value, str):
        known = {_singular(name): name for name in categories}
        for written in (value, value.rpartition(">")[2]):
            if found := known.get(_singular(written)):
                return found
    raise ValueError("must be one of the categories, verbatim")


def _singular(written: str) -> str:
    return letters(written).removesuffix("s")


def codes(value: object, judges: Mapping[str, str]) -> tuple[str, ...]:
    """The codes of the judges named, by code or name, the first of them primary; unknown ones are passed over.

    Raises:
        ValueError: none is known.
    """
    written = value[:20] if isinstance(value, list) else [value]
    by_name = {name: code for code, name in judges.items()}
    names = spellings(judges)
    found = [name for item in written if isinstance(item, str) and (name := names.get(letters(item)))]
    if not found:
        raise ValueError(f"must name at least one of {', '.join(judges)}")
    return tuple(dict.fromkeys(by_name[name] for name in found))


def spellings(judges: Mapping[str, str]) -> dict[str, str]:
    """`letters` of codes, names and their American spelling, to judge's name. `judges`: code to name."""
    names = {letters(name): name for name in judges.values()}
    american = {key.replace("fulfilment", "fulfillment"): name for key, name in names.items()}
    return american | names | {letters(code): name for code, name in judges.items()}


def letters(written: str) -> str:
    """Letters and digits only, without case, of at most 200 characters."""
    return "".join(c for c in written[:200].casefold() if c.isalnum())


def score(value: object) -> int | None:
    """0 to 3, or None for not applicable.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str):
        value = value.strip().lower().replace("_", " ").replace("-", " ")
        if value in {"not applicable", "n/a", "na", "none", "null"}:
            return None
        value = int(value) if value in {"0", "1", "2", "3"} else value
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and value in {0, 1, 2, 3}:
        return int(value)
    raise ValueError("must be an integer from 0 to 3, or null where there is nothing to judge")
