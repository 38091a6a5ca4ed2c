"""The rubrics of a set, made of the reasons of all sessions (SCOPE, step 3; SPUR, step 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from itertools import chain, count
from typing import Final

from tracejury.judges.checks.prompt_text import CHECK_PROMPT_VERSION
from tracejury.judges.checks.reply import CHECK_ANSWER_VERSION
from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.conversation import together
from tracejury.judges.rubrics.rubric_set import MOST_RUBRICS, Area, Label, Rubric, RubricSet
from tracejury.schemas.errors import PermanentError

from .reasons import Reason
from .summaries import MOST_NAME, OF_A_BATCH, Sign, sum_up, summary
from .training import Learning, Training
from .weights import weigh

PROMPT_VERSION: Final = f"2.{CHECK_PROMPT_VERSION}.{CHECK_ANSWER_VERSION}"
"""Of the prompts of learning (raise the first number with every change of them), and of those of checks."""

OF_SPUR: Final = 10
LABELS: Final[tuple[Label, ...]] = ("good", "bad")


def learned_set(
    training: Training,
    areas: Sequence[Area],
    reasons: Sequence[Reason],
    how: Learning,
    counts: Counter[str],
    model: str,
) -> Generator[Sequence[Prompt], Outcomes, RubricSet]:
    """The set that no person has accepted yet. `reasons`: of all sessions, in the order of training.

    `counts`: of what was dropped before; goes into the set.

    Raises:
        PermanentError: no rubric of a label is left, in one line.
        TracejuryError: a call was not answered.
    """
    refused: dict[Label, str] = {}
    found = yield from _summed_up(reasons, areas, how, counts, refused)
    rubrics: dict[Label, list[Rubric]] = {}
    taken: set[str] = set()
    for label, signs in found.items():
        count = sum(reason.label == label for reason in reasons)
        if not signs:
            why = f"; the model's answers were refused: {refused[label]}" if label in refused else ""
            told = how.words(label).told
            raise PermanentError(f"no rubric of sessions that are {told}: {count} reasons were found{why}")
        rubrics[label] = [_rubric(sign, reasons, label, taken) for sign in signs]
        counts["reasons"] += count
        counts["reasons-in-no-rubric"] += count - len(frozenset().union(*(sign.reasons for sign in signs)))
        counts[f"sessions-{how.words(label).name}"] += sum(one == label for _, one in training)
    if how.method == "scope":
        weighed = yield from together(weigh(own, label, how, counts) for label, own in rubrics.items())
        rubrics = dict(zip(rubrics, weighed, strict=True))
    for own in rubrics.values():
        own.sort(key=lambda r: (not r.make_or_break, -r.weight, -len(r.sessions), r.name))
    return RubricSet(
        method=how.method,
        model=model,
        prompts=PROMPT_VERSION,
        counts=dict(sorted((+counts).items())),
        areas=tuple(areas),
        rubrics=tuple(chain.from_iterable(rubrics.values())),
        learned_from=tuple(sorted(session.key for session, _ in training)),
    )


def _summed_up(
    reasons: Sequence[Reason], areas: Sequence[Area], how: Learning, counts: Counter[str], refused: dict[Label, str]
) -> Generator[Sequence[Prompt], Outcomes, Mapping[Label, Sequence[Sign]]]:
    """The rubrics of each label; with areas first of each area, then of all together."""
    told = {area.name: f"{area.name}: {area.text}" for area in areas} or {"": ""}
    signs: dict[tuple[Label, str], list[Sign]] = {(label, area): [] for label in LABELS for area in told.values()}
    for at, reason in enumerate(reasons):
        signs[reason.label, told[reason.area]].append(Sign(reason.text, frozenset({at})))
    most = OF_A_BATCH if areas else OF_SPUR if how.method == "spur" else MOST_RUBRICS
    summed = yield from sum_up(signs, most, how, counts, refused)
    found = {label: [sign for (of, _), own in summed.items() if of == label for sign in own] for label in LABELS}
    if not areas or not all(found.values()):
        return found
    merged = yield from together(
        summary((label, ""), own, max(len(own) // 2, MOST_RUBRICS), how, counts, refused)
        for label, own in found.items()
    )
    return dict(zip(LABELS, merged, strict=True))


def _rubric(sign: Sign, reasons: Sequence[Reason], label: Label, taken: set[str]) -> Rubric:
    own = [reasons[at] for at in sorted(sign.reasons)]
    area, _ = min(Counter(reason.area for reason in own).items(), key=lambda one: (-one[1], one[0]))
    sessions = tuple(sorted({reason.session for reason in own}))
    return Rubric(name=_free(sign.name, label, taken), text=sign.text, label=label, area=area, sessions=sessions)


def _free(name: str, label: Label, taken: set[str]) -> str:
    """The name, with an end where another rubric has it; it is `taken` from now on."""
    ends = chain(("", f"-{label}"), (f"-{label}-{number}" for number in count(2)))
    free = next(one for end in ends if (one := f"{name[: MOST_NAME - len(end)].rstrip('-')}{end}") not in taken)
    taken.add(free)
    return free
