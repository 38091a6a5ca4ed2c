"""A set of rubrics learned from labelled sessions, by a model: `tracejury rubrics learn`, and each split of a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from tracejury.collector.judging.llm.prompt_budget import LEAST_BUDGET, LEAST_PER_TOKEN, ask_shortened
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.conversation import together
from tracejury.judges.rubrics.learning.areas import ROOM, find_areas
from tracejury.judges.rubrics.learning.learned_rubrics import learned_set
from tracejury.judges.rubrics.learning.reasons import reasons_asked, reasons_check, reasons_of
from tracejury.judges.rubrics.learning.training import LabelledSession, Learning, Training, enough, training
from tracejury.judges.rubrics.rubric_set import Area, RubricSet

from .session_model import Progress, SessionModel, untold

REASONS: Final = "reasons of sessions"


async def learn_rubrics(
    sessions: Collection[LabelledSession],
    how: Learning,
    model: SessionModel,
    left_out: Mapping[str, int] | None = None,
    progress: Progress = untold,
) -> RubricSet:
    """The set that is learned from these sessions, whatever their order; nobody has accepted it.

    `left_out`: of what was dropped before, for the set's counts. The same replies give the same set; after a stop, what
    is on the cassette is not asked again.

    Raises:
        PermanentError: the sessions are too few, or nothing was learned of a label; one line.
        OverBudgetError, RetryableError, LlmError: the model cannot be asked now.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    chosen = training(sessions, how)
    counts: Counter[str] = Counter(left_out or {})
    counts["sessions-unlabelled"] += len(sessions) - len(chosen)
    progress("areas", 0, 0)
    areas = await _areas(chosen, how, model, counts) if how.method == "scope" and how.areas else ()
    asked, checks = reasons_asked(how), {label: reasons_check(label, areas, how) for _, label in chosen}
    said = await model.each(REASONS, chosen, lambda one: model.ask(one[0].case([checks[one[1]]]), asked), progress)
    _answered(chosen, said, how, counts)
    reasons = [
        reason
        for (session, label), told in zip(chosen, said, strict=True)
        for reason in reasons_of(session.key, label, areas, told, how, counts)
    ]
    progress("rubrics", 0, 0)
    return await model.run(learned_set(chosen, areas, reasons, how, counts, model.name))


async def _areas(chosen: Training, how: Learning, model: SessionModel, counts: Counter[str]) -> tuple[Area, ...]:
    """The areas; where the model cannot read ten sessions at once, by half as much of each."""
    sessions = [session for session, _ in chosen]

    async def ask(room: int) -> tuple[Area, ...]:
        return (await model.run(together([find_areas(sessions, how, room * LEAST_PER_TOKEN, counts)])))[0]

    room = min(model.budget.budget, ROOM // LEAST_PER_TOKEN)
    return await ask_shortened(room, ask, lambda tokens: tokens, lambda tokens: tokens, LEAST_BUDGET)


def _answered(chosen: Training, said: Iterable[Deliberation], how: Learning, counts: Counter[str]) -> None:
    """Count the sessions without a usable answer; a set is not learned from too few others."""
    failures = [next(iter(one.failures.values()), "") for one in said]
    counts["sessions-unanswered"] += sum(map(bool, failures))
    left = Counter(label for (_, label), failure in zip(chosen, failures, strict=True) if not failure)
    enough(left, how, f"; the model's answers are of no use for the others: {next(filter(None, failures), '')}")
