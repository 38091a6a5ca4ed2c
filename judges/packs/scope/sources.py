"""The items of SCOPE: a session's situation with the states that a harness emits; and its scales."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracejury.judges.checks.check_types import Answer
from tracejury.judges.checks.item_source import ItemCase, Items, ItemSource, none_found
from tracejury.judges.packs.emitted_states import MISSING, States, emitted
from tracejury.judges.situations.situation_types import UNSURE, Situation, all_situations, named_situations
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.taxonomy import Severity

MOST_STATE: Final = 900
"""Characters of a state, and of its changes, that are shown: an item shows 2,000."""
_STRENGTHS: Final = (
    ("a hint of it", 0.2),
    ("faintly", 0.2),
    ("somewhat", 0.2),
    ("plainly, in a detail", 0.4),
    ("plainly, in one point of several", 0.4),
    ("plainly, in a point that matters", 0.4),
    ("strongly, in a point that matters", 0.5),
    ("strongly, in most of the work", 0.5),
    ("strongly, in nearly all of the work", 0.5),
    ("fully: it could not be stronger", 0.5),
)
"""What 1 to 10 mean, with the confidence of an error of that strength."""


def _situation(case: ItemCase) -> Items:
    states = emitted(span.raw for trace in case.subject.distinct_traces for span in trace.spans.values())
    try:
        lines = [*_shown(states)]
    except RecursionError:  # nested deeper than it can be written
        lines = []
    return Items((CheckItem("\n".join(["The session as a whole.", *lines])),))


def _shown(states: States) -> Iterator[str]:
    if states.before is not MISSING:
        yield f"State before: {_json(states.before)}"
    if states.after is not MISSING and states.before is MISSING:
        yield f"State after: {_json(states.after)}"
    elif states.after is not MISSING:
        changes = _cut("; ".join(_changes(states.before, states.after)))
        yield f"Changes of the state by the end: {changes or 'none'}"


def _changes(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """What differs, by the keys that lead to it."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from _changes(before.get(key, MISSING), after.get(key, MISSING), f"{place}.{key}".lstrip("."))
    elif before != after:
        yield f"{place or 'all'}: {_json(before)} became {_json(after)}"


def _json(value: Any) -> str:
    return "nothing" if value is MISSING else _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_STATE else f"{text[: MOST_STATE - 1]}…"


def _answer(situation: Situation) -> Answer:
    named = situation in named_situations()
    told = situation.text if named else "None of the named ones happened."
    meaning = f"user {situation.user}; tools {situation.tools}; agent {situation.conduct}. {told}"
    if situation.good:
        return Answer(meaning=meaning)
    severity = Severity.HIGH if situation.user == "satisfied" else Severity.MEDIUM
    sure = 0.2 if situation.name in UNSURE else 0.4
    return Answer(meaning=meaning, category=situation.name, severity=severity, confidence=sure, rank=1 + named)


SOURCES: Final = (
    ItemSource("rubrics", "no set of rubrics", none_found, rules=True),
    ItemSource("situation", "no session", _situation),
)
"""Of this pack alone; settings put the rubrics of a set in place of none."""

SCALES: Final = {
    "strength": {"0": "it does not apply, or the record leaves it open"}
    | {str(n): Answer(meaning=meaning, confidence=sure) for n, (meaning, sure) in enumerate(_STRENGTHS, 1)},
    "situations": {name: _answer(situation) for name, situation in all_situations().items()},
}
"""By the names that pack.yaml has for them."""
