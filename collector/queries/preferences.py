"""Which measures go with what people prefer, over the sessions that they have compared. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tracejury.collector.store.compared_sessions import check_values, failed_users, mean_scores
from tracejury.collector.store.scope import Scope
from tracejury.judges.checks.aggregate import average
from tracejury.judges.checks.preferences import agreement_of, between_people, majority
from tracejury.schemas.annotations import Better, Preference
from tracejury.schemas.queries.labels import LabelQuery, MeasureAgreement, PreferenceAnswer
from tracejury.schemas.queries.measures import MeasuredPack

from .reader import Labels

_ALL: Final = 1_000_000
"""More preferences than people state."""
AVERAGE: Final = "AVG"

Pair = tuple[str, str, str]
"""Service and the two sessions."""
_Figures = Mapping[tuple[str, str], float]


def preference_answer(
    scope: Scope, labels: Labels, packs: Sequence[MeasuredPack], since: int, until: int, service: str = ""
) -> PreferenceAnswer:
    """Over the preferences that were stated in [since, until), unix nanos. Raises RetryableError, StoreError."""
    answers: defaultdict[Pair, list[Better]] = defaultdict(list)
    for one in labels.find(Preference, LabelQuery(_ALL, since=since, service=service)):
        if one.changed_at < until:
            answers[one.service, one.session_id, one.other_session_id].append(one.better)
    better = {pair: said for pair, given in answers.items() if (said := majority(given))}
    measures = (
        MeasureAgreement(pack, letter, title, found)
        for pack, letter, title, figures in (_figures(scope, packs) if better else ())
        if (found := agreement_of(_with_values(better, figures))).pairs
    )
    return PreferenceAnswer(
        len(answers),
        sum(said is Better.SAME for said in better.values()),
        len(answers) - len(better),
        between_people(answers.values()),
        tuple(measures),
    )


def _with_values(better: Mapping[Pair, Better], figures: _Figures) -> Iterator[tuple[Better, float, float]]:
    for (service, first, second), said in better.items():
        if (service, first) in figures and (service, second) in figures:
            yield said, figures[service, first], figures[service, second]


def _figures(scope: Scope, packs: Sequence[MeasuredPack]) -> Iterator[tuple[str, str, str, _Figures]]:
    """Pack, letter, title and figures by session: of each measure of packs and their averages, and of LLM judges.

    A session that a check finds invalid, or whose user's model failed, has no measures.
    """
    failed = failed_users(scope)
    validators = {one.judge for pack in packs for one in pack.measures if one.validates}
    values = {
        session: told
        for session, told in check_values(scope).items()
        if session not in failed and all(told.get(judge, 1.0) >= 1 for judge in validators)
    }
    for pack in packs:
        for one in pack.measures:
            yield pack.name, one.letter, one.title, _of_judge(values, one.judge)
        averaged = [one.judge for one in pack.measures if one.averaged]
        means = {session: average(told.get(judge) for judge in averaged) for session, told in values.items()}
        title = f"mean of {', '.join(one.letter for one in pack.measures if one.averaged)}"
        yield pack.name, AVERAGE, title, {session: mean for session, mean in means.items() if mean is not None}
    scores = mean_scores(scope)
    for judge in sorted({judge for told in scores.values() for judge in told}):
        yield "", judge, "mean score of the session's runs", _of_judge(scores, judge)


def _of_judge(told: Mapping[tuple[str, str], Mapping[str, float]], judge: str) -> _Figures:
    return {session: figures[judge] for session, figures in told.items() if judge in figures}
