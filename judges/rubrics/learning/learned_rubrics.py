"""The rubrics of a set, made of the reasons of all sessions (SCOPE, step 3; SPUR, step 2)."""

from __future__ import annotations

from collections import Counter, defaultdict
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
from .summaries import OF_A_BATCH, Group, Sign, sum_up
from .training import Learning, Training
from .weights import Weighed, weigh

PROMPT_VERSION: Final = f"1.{CHECK_PROMPT_VERSION}.{CHECK_ANSWER_VERSION}"
"""Of the prompts of learning (raise the first number with every change of them), and of those of checks."""

OF_SPUR: Final = 10
LABELS: Final[tuple[Label, ...]] = ("good", "bad")
_MOST_NAME: Final = 60


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
    of = {label: [reason for reason in reasons if reason.label == label] for label in LABELS}
    found = yield from _summed_up(of, areas, how, counts)
    weights: Mapping[Label, Sequence[Weighed]] = {label: [Weighed()] * len(found[label]) for label in LABELS}
    if missing := next((label for label in LABELS if not found[label]), None):
        raise PermanentError(
            f"no rubric of sessions that are {how.word(missing)}: {len(of[missing])} reasons were found"
        )
    if how.method == "scope":
        said = yield from together(weigh(found[label], label, how, counts) for label in LABELS)
        weights = dict(zip(LABELS, said, strict=True))
    rubrics: list[Rubric] = []
    taken: set[str] = set()
    for label in LABELS:
        made = [
            _rubric(sign, weighed, of[label], label, taken)
            for sign, weighed in zip(found[label], weights[label], strict=True)
        ]
        rubrics += sorted(made, key=lambda r: (not r.make_or_break, -r.weight, -len(r.sessions), r.name))
        covered = frozenset().union(*(sign.reasons for sign in found[label]))
        counts["reasons"] += len(of[label])
        counts["reasons-in-no-rubric"] += len(of[label]) - len(covered)
        counts[how.counted(label)] += sum(one == label for _, one in training)
    return RubricSet(
        method=how.method,
        model=model,
        prompts=PROMPT_VERSION,
        counts=dict(sorted((+counts).items())),
        areas=tuple(areas),
        rubrics=tuple(rubrics),
        learned_from=tuple(sorted(session.key for session, _ in training)),
    )


def _summed_up(
    reasons: Mapping[Label, Sequence[Reason]], areas: Sequence[Area], how: Learning, counts: Counter[str]
) -> Generator[Sequence[Prompt], Outcomes, dict[Label, list[Sign]]]:
    """The rubrics of each label; with areas first of each area, then of all together."""
    told = {area.name: f"{area.name}: {area.text}" for area in areas} or {"": ""}
    most = OF_A_BATCH if areas else OF_SPUR if how.method == "spur" else MOST_RUBRICS
    groups: dict[Label, list[Group]] = defaultdict(list)
    for label in LABELS:
        for area, text in told.items():
            signs = [Sign(r.text, frozenset({at})) for at, r in enumerate(reasons[label]) if r.area == area]
            groups[label].append(Group(signs, label, most, text))
    yield from sum_up([group for own in groups.values() for group in own], how, counts)
    found = {label: [sign for group in groups[label] for sign in group.signs] for label in LABELS}
    if not areas:
        return found
    merged = {
        label: Group(signs, label, max(len(signs) // 2, MOST_RUBRICS), batch=max(len(signs), 1))
        for label, signs in found.items()
    }
    yield from sum_up([*merged.values()], how, counts)
    return {label: group.signs for label, group in merged.items()}


def _rubric(sign: Sign, weighed: Weighed, reasons: Sequence[Reason], label: Label, taken: set[str]) -> Rubric:
    own = [reasons[at] for at in sorted(sign.reasons)]
    area, _ = min(Counter(reason.area for reason in own).items(), key=lambda one: (-one[1], one[0]))
    return Rubric(
        name=_free(sign.name, label, taken),
        text=sign.text,
        label=label,
        area=area,
        weight=weighed.weight,
        make_or_break=weighed.make_or_break,
        sessions=tuple(sorted({reason.session for reason in own})),
    )


def _free(name: str, label: Label, taken: set[str]) -> str:
    """The name, with an end where another rubric has it; it is `taken` from now on."""
    ends = chain(("", f"-{label}"), (f"-{label}-{number}" for number in count(2)))
    free = next(one for end in ends if (one := f"{name[: _MOST_NAME - len(end)].rstrip('-')}{end}") not in taken)
    taken.add(free)
    return free
