"""What people say of errors. Labels are stored on findings; here they are read as those of the errors.

A label covers the error that it is of at its primary span:

* on a finding that stands: the error that has the finding, if the finding is at the primary span, which it is not
  where it repeats the error, shows it or reads it;
* on a finding that stands no more: the error of the same class of cause at its span, as long as its annotator has no
  label on a finding of that error that stands;
* on an error that was missed: the error of that span and category, likewise.

So findings that join an error later, or replace one of it, are covered without a label of their own, and the id under
which an error was shown does not matter. Whoever agrees or moves the error to another span says that it is one, whoever
disagrees that it is none. An error of which both is said, by one person or several, is contested. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tracejury.judges.causes import cause
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import Annotation, ErrorLabel, Opinion
from tracejury.schemas.findings import fingerprint

Key = tuple[str, str, str]
"""Trace, span, and class of cause; or taxonomy and category as one text."""


def label_of(said: Iterable[Annotation]) -> ErrorLabel | None:
    """The label that these make of one error; None without any."""
    opinions = {a.opinion is not Opinion.DISAGREE for a in said}
    if len(opinions) > 1:
        return ErrorLabel.CONTESTED
    return {True: ErrorLabel.RIGHT, False: ErrorLabel.WRONG}[opinions.pop()] if opinions else None


def labels_on(
    errors: Iterable[ErrorSummary], annotations: Iterable[Annotation]
) -> Mapping[str, tuple[Annotation, ...]]:
    """By id of each of `errors` that is covered by any, its labels, by annotator.

    `errors`: all that stand in some traces; `annotations`: those of these traces that are not withdrawn.
    """
    said = list(annotations)
    return assigned(errors, said)[0] if said else {}


def assigned(
    errors: Iterable[ErrorSummary], annotations: Iterable[Annotation]
) -> tuple[Mapping[str, tuple[Annotation, ...]], list[Annotation]]:
    """As `labels_on`, and the labels that cover no error."""
    found, rest = list(errors), list[Annotation]()
    members = {finding_id: error for error in found for finding_id in error.findings}
    by_cause = {(error.trace_id, error.span_id, error.cause): error for error in found}
    by_category = {(error.trace_id, error.span_id, _category(error)): error for error in found}
    own: defaultdict[str, list[Annotation]] = defaultdict(list)
    earlier: defaultdict[str, list[Annotation]] = defaultdict(list)
    for a in annotations:
        if error := members.get(a.finding_id):
            covers = a.trace_id == error.trace_id and stood_at(a, error.span_id)
            (own[error.id] if covers else rest).append(a)
        else:
            if a.opinion is Opinion.MISSED:
                error = by_category.get((a.trace_id, a.span_id, _category(a)))
            else:
                error = _moved(a, found) or by_cause.get(_key(a))
            (earlier[error.id] if error else rest).append(a)
    said = {error.id: _with_earlier(own[error.id], earlier[error.id]) for error in found}
    return {one: tuple(sorted(labels, key=_order)) for one, labels in said.items() if labels}, rest


def last_words(annotations: Iterable[Annotation]) -> list[Annotation]:
    """The last label of each annotator on a finding, however often it was reworded, and on a place of missed errors."""
    last: dict[tuple[str, str, str], Annotation] = {}
    for a in sorted(annotations, key=lambda a: (a.changed_at, a.id)):
        place = a.fingerprint or fingerprint(a.tenant, a.trace_id, a.span_id, a.taxonomy, a.category)
        last[a.annotator, a.judge, place] = a
    return list(last.values())


def grouped(annotations: Iterable[Annotation]) -> list[list[Annotation]]:
    """Labels by the error that they are of, where no error stands: of one span and cause, or of one place."""
    ordered = sorted(annotations, key=lambda a: (not a.judge, a.changed_at, a.id))
    keys: dict[Key, Key] = {}
    groups: defaultdict[Key, list[Annotation]] = defaultdict(list)
    for a in ordered:
        place = (a.trace_id, a.span_id, _category(a))
        groups[_key(a) if a.judge else keys.get(place, place)].append(a)
        keys.setdefault(place, _key(a))
    return [last_words(said) for said in groups.values()]


def stood_at(a: Annotation, span_id: str) -> bool:
    """Whether the finding that a label is on was at this span of its trace; the label may name another one."""
    if a.opinion is Opinion.OTHER_SPAN:
        return a.fingerprint == fingerprint(a.tenant, a.trace_id, span_id, a.taxonomy, a.category)
    return a.span_id == span_id


def _with_earlier(own: Sequence[Annotation], earlier: Iterable[Annotation]) -> list[Annotation]:
    told = {a.annotator for a in own}
    return [*own, *(a for a in last_words(earlier) if a.annotator not in told)]


def _moved(a: Annotation, errors: Iterable[ErrorSummary]) -> ErrorSummary | None:
    """The error of a finding that stands no more, and of which somebody said that it was made elsewhere."""
    if a.opinion is not Opinion.OTHER_SPAN:
        return None
    own = (e for e in errors if e.trace_id == a.trace_id and e.cause == cause(a.judge, a.taxonomy, a.category))
    return next((e for e in own if stood_at(a, e.span_id)), None)


def _order(a: Annotation) -> tuple[str, int, str]:
    return a.annotator, a.changed_at, a.id


def _key(a: Annotation) -> Key:
    return a.trace_id, a.span_id, cause(a.judge, a.taxonomy, a.category)


def _category(one: Annotation | ErrorSummary) -> str:
    return f"{one.taxonomy}/{one.category}"
