"""Matching people's opinions with findings, also after findings were reworded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .annotations import Annotation, Opinion
from .findings import Finding


def opinions_on(findings: Iterable[Finding], annotations: Iterable[Annotation]) -> Mapping[str, Sequence[Annotation]]:
    """By id of each of `findings` that anybody has an opinion on, the opinion of each annotator, by annotator.

    `findings`: those that hold; `annotations`: those that stand, of the same traces. An opinion is of the finding that
    it names. Where that one does not hold any more, it is of the same judge's finding with the same fingerprint: what
    was quoted and said has changed, trace, span and category have not. Of several the one on the finding itself goes
    before, then the latest. A retracted finding that nothing replaces has an opinion that is of nothing shown.
    """
    held = list(findings)
    ids = {f.id for f in held}
    ordered = sorted((a for a in annotations if a.opinion is not Opinion.MISSED), key=lambda a: (a.changed_at, a.id))
    direct: dict[str, dict[str, Annotation]] = {}
    reworded: dict[tuple[str, str], dict[str, Annotation]] = {}
    for a in ordered:
        if a.finding_id in ids:
            direct.setdefault(a.finding_id, {})[a.annotator] = a
        elif a.fingerprint:
            reworded.setdefault((a.judge, a.fingerprint), {})[a.annotator] = a
    found = {f.id: reworded.get((f.judge, f.fingerprint), {}) | direct.get(f.id, {}) for f in held}
    return {i: tuple(by[name] for name in sorted(by)) for i, by in found.items() if by}
