"""Errors as people see them: the opinions of several, combined error by error.

An error is told apart by its span, taxonomy and category, whoever names it. Whoever marked it (agreed with a finding
there, moved one there, or missed one there) says yes, whoever disagreed with a finding there says no, of each annotator
what was said last; who said nothing of it has no vote. Most votes decide; as many for as against: people are divided.

Rates are of agent runs, so an error that somebody moves to a span of another run is one of that run: the run of the
finding does not have it, and whoever moved it disagrees there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ...schemas.annotations import Annotation, Opinion
from ...schemas.findings import Finding, fingerprint

DIVIDED: Final = 0.5

Place = tuple[str, str, str, str]
"""Trace, span, taxonomy and category."""


@dataclass(frozen=True, slots=True)
class SeenError:
    """An error that people see. `truth`: 1 where most do, DIVIDED where they are; `said`: by those who see it."""

    place: Place
    truth: float
    said: tuple[Annotation, ...]


def seen_errors(annotations: Iterable[Annotation]) -> tuple[SeenError, ...]:
    """The errors that at least half of those see who said anything of them, by place.

    `annotations`: those that stand, of any traces.
    """
    votes: defaultdict[Place, dict[str, Annotation]] = defaultdict(dict)
    for a in sorted(annotations, key=lambda a: (a.changed_at, a.id)):
        if not a.withdrawn:
            votes[a.trace_id, a.span_id, a.taxonomy, a.category][a.annotator] = a
    errors = []
    for place, said in sorted(votes.items()):
        yes = tuple(said[name] for name in sorted(said) if said[name].opinion is not Opinion.DISAGREE)
        if truth := majority(len(yes), len(said) - len(yes)):
            errors.append(SeenError(place, truth, yes))
    return tuple(errors)


def said_of_run(
    run_id: str, annotations: Iterable[Annotation], findings: Iterable[Finding] = ()
) -> tuple[Annotation, ...]:
    """The annotations of one agent run, out of the `annotations` of its traces.

    Who moved one of its errors to another run disagrees here: with one of `findings` (of the run), or with what others
    say of that place.
    """
    said = list(annotations)
    own = [a for a in said if a.agent_run_id == run_id]
    places = {fingerprint(a.tenant, a.trace_id, a.span_id, a.taxonomy, a.category): a.span_id for a in own}
    places |= {f.fingerprint: f.span_id for f in findings}
    away = (
        replace(a, opinion=Opinion.DISAGREE, span_id=places[a.fingerprint], agent_run_id=run_id)
        for a in said
        if a.opinion is Opinion.OTHER_SPAN and a.agent_run_id != run_id and a.fingerprint in places
    )
    return (*own, *away)


def majority(yes: int, no: int) -> float:
    """1, 0, or DIVIDED."""
    return DIVIDED if yes == no else float(yes > no)
