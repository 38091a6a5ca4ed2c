"""Errors as people see them: what several say, combined error by error (see `error_labels`).

Whoever marked an error (agreed with a finding of it, moved one to another span, or missed one there) sees it, whoever
disagreed with a finding of it does not; who said nothing of it has no vote. Where both is said, it is contested: nobody
is outvoted, and it counts neither as right nor as wrong.

Rates are of agent runs, so an error that somebody moves to a span of another run is one of that run: the run of the
finding does not have it, and whoever moved it disagrees there.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import Annotation, ErrorLabel, Opinion
from tracejury.schemas.findings import Finding, fingerprint

from .error_labels import assigned, grouped, label_of

Place = tuple[str, str, str, str]
"""Trace, span, taxonomy and category."""


@dataclass(frozen=True, slots=True)
class SeenError:
    """An error that people see. `label`: RIGHT or CONTESTED; `said`: by those who see it, by annotator.

    `error`: what judges found there, None where nothing that stands is.
    """

    label: ErrorLabel
    said: tuple[Annotation, ...]
    error: ErrorSummary | None = None

    @property
    def places(self) -> frozenset[Place]:
        """Where those see it who see it."""
        return frozenset((a.trace_id, a.span_id, a.taxonomy, a.category) for a in self.said)


def seen_errors(annotations: Iterable[Annotation], errors: Sequence[ErrorSummary] = ()) -> tuple[SeenError, ...]:
    """The errors that anybody sees, by place; those that all see who said anything of them are RIGHT.

    `annotations`: those of one run, or of any; `errors`: all that stand in their traces. Whoever agrees with what only
    repeats an error that people see has not seen another one, nor has whoever agrees with what another run repeats.
    """
    own, rest = assigned(errors, [a for a in annotations if not a.withdrawn])
    seen = [one for error in errors if (one := _seen(own.get(error.id, ()), error))]
    told = {one.error.id for one in seen if one.error}
    parts = {finding_id: error for error in errors for finding_id in error.findings}
    others = [a for a in rest if not _repeats(a, parts.get(a.finding_id), told)]
    seen += [one for said in grouped(others) if (one := _seen(said, None))]
    return tuple(sorted(seen, key=lambda one: min(one.places)))


def _repeats(a: Annotation, error: ErrorSummary | None, told: Container[str]) -> bool:
    """Whether a label is on a part of an error that counts elsewhere: by other labels, or in another run."""
    if error is None or a.opinion is Opinion.OTHER_SPAN:
        return False
    return error.id in told or error.agent_run_id != a.agent_run_id


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


def _seen(said: Iterable[Annotation], error: ErrorSummary | None) -> SeenError | None:
    told = list(said)
    label = label_of(told)
    if label is None or label is ErrorLabel.WRONG:
        return None
    yes = (a for a in told if a.opinion is not Opinion.DISAGREE)
    return SeenError(label, tuple(sorted(yes, key=lambda a: (a.annotator, a.changed_at, a.id))), error)
