"""What people say of sessions. Nobody is outvoted: a session whose labels contradict each other is contested. Pure.

Labels of the generator are those of sessions that were made to be good or bad. Where people label such a session, only
their labels count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tracejury.schemas.annotations import GENERATOR, SessionLabel


@dataclass(frozen=True, slots=True)
class AgreedLabel:
    """The labels of one session, which do not contradict each other, as one.

    `satisfied` is None where nobody says. `situation` is "" where nobody says, and where people name different ones:
    they still agree whether the session is good. `annotators`: by name; the generator alone, or people.
    """

    good: bool
    satisfied: bool | None
    situation: str
    annotators: tuple[str, ...]

    @property
    def by_people(self) -> bool:
        """Whether anybody but the generator says so."""
        return self.annotators != (GENERATOR,)


def agreed(labels: Iterable[SessionLabel]) -> dict[tuple[str, str], AgreedLabel | None]:
    """By service and session id, in order, what the labels say of each session; None: it is contested.

    Contested is a session that is good to one and bad to another, or whose user is satisfied to one and not to another.
    Withdrawn labels do not count.
    """
    said = defaultdict[tuple[str, str], list[SessionLabel]](list)
    for label in labels:
        if not label.withdrawn:
            said[label.service, label.session_id].append(label)
    return {session: _agreed(said[session]) for session in sorted(said)}


def _agreed(said: list[SessionLabel]) -> AgreedLabel | None:
    said = [one for one in said if one.annotator != GENERATOR] or said
    good = {one.good for one in said}
    satisfied = {one.satisfied for one in said if one.satisfied is not None}
    situations = {one.situation for one in said if one.situation}
    if len(good) > 1 or len(satisfied) > 1:
        return None
    return AgreedLabel(
        good=good.pop(),
        satisfied=satisfied.pop() if satisfied else None,
        situation=situations.pop() if len(situations) == 1 else "",
        annotators=tuple(sorted({one.annotator for one in said})),
    )
