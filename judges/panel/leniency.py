"""What is forgiven in a model's answer: spellings of labels, categories and codes, never a guess."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Final

from ...schemas.shown import shown
from ...schemas.taxonomy import Dimension

MOST_LABELS: Final = 50
"""Labels taken from one field; a range is counted out up to here."""

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
        spellings = _spellings(tuple(categories))
        for written in (value, value.rpartition(">")[2]):
            if found := spellings.get(_singular(written[:200])):
                return found
    raise ValueError("must be one of the categories, verbatim")


@lru_cache(maxsize=32)
def _spellings(categories: tuple[str, ...]) -> dict[str, str]:
    return {_singular(name): name for name in categories}


def _singular(written: str) -> str:
    return _letters(written).removesuffix("s")


def _letters(written: str) -> str:
    return "".join(c for c in written.casefold() if c.isalnum())


_NAMES: Final = {_letters(d.name): d.value for d in Dimension} | {_letters("goal fulfillment"): "GF"}


def codes(value: object, known: Sequence[str]) -> tuple[str, ...]:
    """Those of the `known` codes that are named, as codes or as names of dimensions, the first of them primary.

    Raises:
        ValueError: none is known.
    """
    spelt = {_letters(code): code for code in known}
    written = value[:20] if isinstance(value, list) else [value]
    letters = [_letters(item[:80]) for item in written if isinstance(item, str)]
    found = [code for item in letters if (code := spelt.get(item) or spelt.get(_NAMES.get(item, "").lower()))]
    if not found:
        raise ValueError(f"must name at least one of {', '.join(known)}")
    return tuple(dict.fromkeys(found))


def judge(value: object) -> str:
    """A judge's name in its usual spelling; "" for what is no string."""
    return "-".join(value[:80].lower().replace("_", " ").replace("-", " ").split()) if isinstance(value, str) else ""


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
