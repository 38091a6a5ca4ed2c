"""Checks of labels: known categories, texts of bounded length. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

from tracejury.collector.queries.reader import LabelT
from tracejury.judges.situations.situation_types import Situation, all_situations
from tracejury.schemas.annotations import SessionLabel
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.given_scores import MOST
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES

MAX_TEXT: Final = 5_000
"""Characters of an evidence or an explanation."""
MAX_NAME: Final = 100
"""Characters of an annotator's name, an id or a taxonomy."""
MAX_CATEGORY: Final = 200
MAX_SESSION: Final = 10_000
"""Characters of a session's id, and of the name of its service."""
MAX_STRATUM: Final = 1_200


def name(what: str, text: str, limit: int = MAX_NAME) -> str:
    """A short printable text on one line, without white space around it. Raises ConfigError."""
    text = text.strip()
    if not text:
        raise ConfigError(f"{what} is missing")
    if len(text) > limit:
        raise ConfigError(f"{what} has {len(text):,} characters; at most {limit:,} are taken")
    if not text.isprintable():
        raise ConfigError(f"{what} {text[:40]!a} holds characters that cannot be printed")
    return text


def free_text(what: str, text: str, limit: int = MAX_TEXT) -> str:
    """Any text of bounded length that can be stored. Raises ConfigError."""
    if len(text) > limit:
        raise ConfigError(f"{what} has {len(text):,} characters; at most {limit:,} are taken")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{what} holds half of a surrogate pair, which is no text") from None
    return text


def a_category(taxonomy: str, text: str) -> str:
    """A category of a taxonomy: TRAIL's as it writes it, of another one what is said. Raises ConfigError."""
    text = name("category", text, MAX_CATEGORY)
    if taxonomy != TRAIL:
        return text
    found = _LEAVES.get(_fold(text))
    if found is None:
        raise ConfigError(f"{text[:60]!r} is no category of TRAIL; they are: {', '.join(TRAIL_CATEGORIES)}")
    return found


def a_situation(text: str) -> str:
    """The name of a known situation, which may be missing. Raises ConfigError."""
    text = _optional("situation", text)
    if text and text not in all_situations():
        raise ConfigError(f"{text[:60]!r} is no situation; they are: {', '.join(all_situations())}")
    return text


def checked(said: LabelT) -> LabelT:
    """A label with its texts as they are stored. Raises ConfigError for what it cannot say."""
    given: dict[str, Any] = {field.name: getattr(said, field.name) for field in fields(said)}
    texts = {what: _TEXTS.get(what, _optional)(what, text) for what, text in given.items() if type(text) is str}
    said = replace(said, **given | texts)
    if said.problem:
        raise ConfigError(said.problem)
    if isinstance(said, SessionLabel) and said.situation:
        _must_fit(said, all_situations()[said.situation])
    return said


def _must_fit(said: SessionLabel, situation: Situation) -> None:
    if said.good != situation.good:
        raise ConfigError(f"a session in the situation {situation.name} is {'good' if situation.good else 'bad'}")
    if said.satisfied not in (None, situation.user == "satisfied"):
        raise ConfigError(f"in the situation {situation.name} the user is {situation.user}")


def _optional(what: str, text: str, limit: int = MAX_NAME) -> str:
    return name(what, text, limit) if text.strip() else ""


def an_id(what: str, text: str) -> str:
    """An id in lower case, which may be missing. Raises ConfigError."""
    return _optional(what, text).lower()


def _own_id(what: str, text: str) -> str:
    if text.strip() in {".", ".."}:
        raise ConfigError(f"{what} {text.strip()!r} cannot stand in an address")
    return _optional(what, text)


_TEXTS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "annotator": name,
    "name": partial(name, limit=MOST["name"]),
    "trace_id": an_id,
    "span_id": an_id,
    "finding_id": an_id,
    "pattern": an_id,
    "id": _own_id,
    "taxonomy": lambda what, text: name(what, text or TRAIL),
    "category": lambda what, text: _optional(what, text, MAX_CATEGORY),
    "evidence": free_text,
    "explanation": free_text,
    "situation": lambda _, text: a_situation(text),
    "stratum": lambda what, text: _optional(what, text, MAX_STRATUM),
    # As clients wrote them: any text at all.
    **dict.fromkeys(("service", "session_id", "other_session_id"), partial(free_text, limit=MAX_SESSION)),
}
"""How a text of this name is checked, whatever kind of label has it; any other one may be missing, or is a name."""


def _fold(text: str) -> str:
    return "".join(text.split()).casefold()


_LEAVES: Final = {_fold(leaf): leaf for leaf in TRAIL_CATEGORIES}
