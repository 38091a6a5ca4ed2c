"""The measures of sessions, as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracejury.schemas.queries.measures import MeasuredPack, PackMeasure
from tracejury.schemas.verdicts import Verdict, session_of


@dataclass(frozen=True, slots=True)
class ShownMeasure:
    """A measure of a session. `service`: of the session that has it."""

    letter: str
    title: str
    definition: str
    service: str
    verdict: Verdict


def session_measures(verdicts: Sequence[Verdict], packs: Sequence[MeasuredPack]) -> Sequence[ShownMeasure]:
    """The measures of a session in order of packs; those of packs that are gone come last, by judge."""
    known = {measure.judge: (at, measure) for at, measure in enumerate(m for pack in packs for m in pack.measures)}
    shown: list[tuple[tuple[str, int, str], ShownMeasure]] = []
    for verdict in verdicts:
        service, _ = session_of(verdict.subject) or ("", "")
        at, measure = known.get(verdict.judge, (len(known), PackMeasure("", verdict.judge, verdict.judge, "")))
        one = ShownMeasure(measure.letter, measure.title, measure.definition, service, verdict)
        shown.append(((service, at, verdict.judge), one))
    return [one for _, one in sorted(shown, key=lambda pair: pair[0])]
