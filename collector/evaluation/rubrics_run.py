"""Rubrics learned from some labelled sessions of a folder and tested on others: `tracejury evaluate rubrics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tracejury.judges.checks.how_asked import HowAsked
from tracejury.judges.checks.item_source import ItemCase
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.packs.asked import asked_check
from tracejury.judges.packs.cards.task_cards import SessionTerms
from tracejury.judges.packs.loader import known_packs
from tracejury.judges.packs.pack_types import Configured
from tracejury.judges.packs.scope.measures import strengths
from tracejury.judges.packs.scope.settings import LABELS as OF_RUBRICS
from tracejury.judges.packs.scope.settings import with_rubrics
from tracejury.judges.rubrics.evaluation.arms import LEARNERS, SCOPE, JudgedSession, Span, SplitOutcome
from tracejury.judges.rubrics.evaluation.splits import Split, Whole, splits
from tracejury.judges.rubrics.learning.training import LabelledSession, training
from tracejury.judges.rubrics.rubric_set import RubricSet, SessionKey, read_rubric_set
from tracejury.judges.situations.situation_types import UNSURE
from tracejury.schemas.errors import PermanentError

from .labelled_sessions import LABELS, labelled_sessions
from .learn_rubrics import learn_rubrics
from .people import Source, read_missed_errors
from .session_model import Progress, SessionModel, untold

SITUATION = "scope-situation"


@dataclass(frozen=True, slots=True)
class RubricsPlan:
    """What is learned and tested. `learned`: the set of `--set`, else each split learns its own.

    `planted`: where the labels say that an error was missed. `left_out`: how many sessions or labels, by why.
    """

    splits: Sequence[Split]
    planted: Collection[Span]
    left_out: Mapping[str, int]
    learned: RubricSet | None = None


def plan_rubrics(
    folder: Path, labels: Source | None, folds: int, whole: Whole | None, rubrics: Path | None = None
) -> RubricsPlan:
    """Read a folder, and the set that is tested instead of learned ones.

    Sessions of the generator whose situation people alone can tell are left out: their labels are no silver.

    Raises:
        PermanentError: a split has too few sessions to learn from, or all are of the set's; or a file is broken.
        ConfigError: the set cannot be read.
    """
    read = labelled_sessions(folder, labels)
    left_out = Counter(read.left_out)
    unsure = {one.key for one in read.sessions if not one.label.by_people and one.label.situation in UNSURE}
    sessions = [one for one in read.sessions if one.key not in unsure]
    left_out["sessions-unsure"] += len(unsure)
    planted = read_missed_errors(labels or folder / LABELS)
    if rubrics is not None:
        learned = read_rubric_set(rubrics)
        tested = tuple(one for one in sessions if one.key not in {*learned.learned_from})
        left_out["sessions-learned-from"] += len(sessions) - len(tested)
        if not tested:
            raise PermanentError(
                f"{rubrics} was learned from all {len(sessions)} labelled sessions: none is left to test"
            )
        return RubricsPlan([Split("", (), tested)], planted, +left_out, learned)
    drawn = splits(sessions, folds, whole)
    for split in drawn:
        try:
            training(split.learned, LEARNERS[SCOPE])
        except PermanentError as error:
            raise PermanentError(f"split {split.name}, two of {folds} folds: {error}") from None
    return RubricsPlan(drawn, planted, +left_out)


async def run_splits(
    plan: RubricsPlan, model: SessionModel, max_tokens: int, progress: Progress = untold
) -> list[SplitOutcome]:
    """What came of each split, one after the other.

    Raises:
        OverBudgetError, RetryableError, LlmError: the model cannot be asked now.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    found: list[SplitOutcome] = []
    for split in plan.splits:
        sets: dict[str, RubricSet] = {plan.learned.method.upper(): plan.learned} if plan.learned else {}
        missing: dict[str, str] = {}
        told = partial(_told, progress, f"split {split.name} of {len(plan.splits)}" if split.name else "")
        for name, how in LEARNERS.items() if plan.learned is None else ():
            asked = replace(how, max_tokens=max_tokens)
            try:
                sets[name] = await learn_rubrics(split.learned, asked, model, progress=partial(told, name))
            except PermanentError as error:
                missing[name] = str(error)
        judged = {
            name: await judge_sessions(
                split.tested, rubrics, model, max_tokens, partial(told, name), situation=name == SCOPE
            )
            for name, rubrics in sets.items()
        }
        found.append(SplitOutcome(split, sets, judged, missing))
        if split.name:
            progress("splits tested", len(found), len(plan.splits))
    return found


def _told(progress: Progress, split: str, name: str, stage: str, done: int, of: int) -> None:
    """A log has lines for what is counted: of many splits these alone, as each has many stages."""
    if split:
        progress(f"{split}, {name}, {stage}{f' {done} of {of}' if of else ''}", 0, 0)
    else:
        progress(f"{name}, {stage}", done, of)


async def judge_sessions(
    sessions: Sequence[LabelledSession],
    rubrics: RubricSet,
    model: SessionModel,
    max_tokens: int,
    progress: Progress = untold,
    *,
    situation: bool = True,
) -> dict[SessionKey, JudgedSession]:
    """What is said of each session by a set, accepted or not, as at the close of a live one.

    Sessions without an answer of use are left out. `situation`: ask that, too, in the same call.

    Raises:
        OverBudgetError, RetryableError: the model cannot be asked now.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    pack = next(pack for pack in known_packs()[0] if pack.name == "scope")
    made = with_rubrics(Configured(pack.checks, pack.formulas), rubrics)
    checks = [check for check in made.checks if check.name in {*OF_RUBRICS, *([SITUATION] if situation else ())}]
    how = HowAsked(made.formulas, {check.name: "" for check in checks}, max_tokens)

    async def ask(session: LabelledSession) -> Deliberation:
        cases = (ItemCase(check, session.recorded, SessionTerms) for check in checks)
        return await model.ask(session.case([asked_check(pack, case) for case in cases]), how)

    said = await model.each("sessions tested", sessions, ask, progress)
    return {
        session.key: _judged(one)
        for session, one in zip(sessions, said, strict=True)
        if not any(check in one.failures for check in OF_RUBRICS)
    }


def _judged(said: Deliberation) -> JudgedSession:
    answers = {verdict.judge: verdict.items for verdict in said.verdicts}
    of_rubrics = [answers[check] for check in OF_RUBRICS]
    proven = [[one for one in own if one.grounded] for own in of_rubrics]
    situation = next((one for one in answers.get(SITUATION, ()) if one.grounded), None)
    return JudgedSession(
        strengths(proven),
        strengths(of_rubrics),
        frozenset((one.trace_id, one.span_id) for one in answers["scope-bad"] if one.grounded and not one.best),
        situation.answer if situation else "",
        (situation.trace_id, situation.span_id) if situation else ("", ""),
    )
