"""Several runs of one trace judged in one call, each with verdicts and findings of its own.

The prompt has the rules, their record, and which verdicts are wanted of which run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.findings import Finding
from tracejury.schemas.transcript import GroupRecord, Transcript

from . import prompt_text as text
from .answer import parse, schema
from .answer_items import score_key
from .answer_types import Answer, Claim, Score
from .case import Case, Deliberation, Outcomes, Stage
from .client import Prompt, PromptMessage
from .conversation import Asking, AskResult, ask, together
from .criteria import Criteria
from .deliberation import Deliberator, vocabulary
from .members import LlmJudges
from .picture import chosen
from .prompt import cached, ending
from .prompt_rules import described, system_text
from .record import fenced, listed_for
from .ruling import may_stay_unscored
from .second_look import MOST_CHARACTERS, look_again

T = TypeVar("T", Score, str)


class UnreadableTogetherError(TracejuryError):
    """No usable answer about several runs came; about one by itself there may be."""


DeliberatingTogether = Generator[Sequence[Prompt], Outcomes, tuple[Deliberation, ...]]


def deliberate_together(
    cases: Sequence[Case],
    record: GroupRecord,
    panel: LlmJudges,
    look: int = MOST_CHARACTERS,
    full: Callable[[], Transcript] | None = None,
) -> DeliberatingTogether:
    """Judge the closing cases of several runs, which `record` shows; an answer for each, in order.

    Runs of the record without a case are context. `full` makes the record with every text in full. Plans have prompts
    of their own, in the same first batch.

    Raises:
        OverBudgetError, RetryableError, PromptTooLongError: as they came.
        UnreadableTogetherError: the model replied, and what it said cannot be used.
        KeyError: a judge of a case does not sit in the panel.
    """
    session = _Together(record, panel, full, [Deliberator(case, panel, (), look) for case in cases])
    yield from together(session.conversations())
    return tuple(member.deliberation() for member in session.members)


@dataclass(slots=True)
class _Together:
    record: GroupRecord
    panel: LlmJudges
    full: Callable[[], Transcript] | None
    members: list[Deliberator]

    def conversations(self) -> list[Asking[None]]:
        plans: list[Asking[None]] = []
        asked: dict[str, tuple[Deliberator, list[Criteria]]] = {}
        for member in self.members:
            own, judges = member.prepare()
            plans += own
            if judges:
                asked[self.record.labels[member.case.run.id]] = (member, judges)
        return [*plans, self._runs(asked)] if asked else plans

    def _runs(self, asked: Mapping[str, tuple[Deliberator, Sequence[Criteria]]]) -> Asking[None]:
        members = [member for member, _ in asked.values()]
        names = {label: [judge.name for judge in judges] for label, (_, judges) in asked.items()}
        words = vocabulary(run_judges(self.panel))
        cases = [_listing(member.case, names[label]) for label, (member, _) in asked.items()]
        judges = {label: judges for label, (_, judges) in asked.items()}
        shape = schema(words, lookup=members[0].rounds > 0, group=True)
        prompt = group_prompt(cases, self.record, self.panel, judges, shape)

        def once(prompt: Prompt, may_look: bool) -> Asking[AskResult[Answer]]:  # noqa: FBT001 - a callback
            return ask(prompt, lambda text: parse(text, names, words, may_look=may_look), lambda a: _lacks(a, asked))

        looked = yield from look_again(prompt, once, members[0].uncut(self.record.transcript, full=self.full))
        if looked.said.answer is None and looked.said.error is None:
            raise UnreadableTogetherError(looked.said.failure)
        for label, (member, _) in asked.items():
            said = member.take(looked, names[label], of_run=True)
            if said is not None:
                member.ruling.score(_of(label, names[label], said.scores), _of(label, names[label], said.unscored))
                member.ruling.decide([f for case in cases for f in case.provisional], said.stands, names[label])
        for member in members[1:]:  # what belongs to the call is counted once
            member.unsound = 0
            member.looks.clear()
        if looked.said.answer is not None:
            self._place(
                looked.said.answer.claims,
                {member.case.run.id: (member, names[label]) for label, (member, _) in asked.items()},
            )

    def _place(self, claims: Iterable[Claim], asked: Mapping[str, tuple[Deliberator, Sequence[str]]]) -> None:
        """Give each claim to the run that it is about; one that names no step is dropped at the first."""
        first = next(iter(asked))
        wanted = {label for label, owner in self.record.owners.items() if owner in asked}
        homes = {step.span_id: self.record.owners[step.label] for step in reversed(self.record.transcript.steps)}
        claimed: dict[str, list[Claim]] = {}
        for claim in claims:
            owners = [self.record.owners[label] for label in claim.labels if label in self.record.owners]
            home = next((owner for owner in owners if owner in asked), "" if owners else first)
            if home:
                claimed.setdefault(home, []).append(claim)
            else:  # a run that is only context
                asked[first][0].gate.dropped["outside-window"] += 1
        for run_id, own in claimed.items():
            member, names = asked[run_id]
            for found in member.gate.findings(own, names, self.record.transcript, wanted_at=wanted):
                self._hand(found, *asked.get(homes.get(found.span_id, ""), (member, names)), member)

    def _hand(self, found: Finding, home: Deliberator, names: Sequence[str], member: Deliberator) -> None:
        """Give a finding to the run of its span, if its judge looks at that run."""
        if found.judge in names:
            home.found.append(found)
        else:
            member.gate.dropped["unsound"] += 1


def _listing(case: Case, names: Sequence[str]) -> Case:
    """The case with the provisional findings that those asked decide on."""
    return replace(case, provisional=tuple(f for f in case.provisional if f.judge in names))


def _of(label: str, judges: Iterable[str], keyed: Mapping[str, T]) -> dict[str, T]:
    """A run's part of what an answer says of several, by judge."""
    return {judge: keyed[key] for judge in judges if (key := score_key(label, judge)) in keyed}


def _lacks(answer: Answer, asked: Mapping[str, tuple[Deliberator, Sequence[Criteria]]]) -> str:
    """The problem for which an answer should be repaired, "" for none."""
    if answer.looks:
        return ""
    for label, (member, judges) in asked.items():
        for judge in judges:
            why = answer.unscored.get(score_key(label, judge.name), "")
            if why and not may_stay_unscored(judge.name, member.case.run):
                return f'"verdicts": {label} {judge.name}: {why}'
    return "" if answer.claims else answer.problem


def group_prompt(
    cases: Sequence[Case],
    record: GroupRecord,
    panel: LlmJudges,
    asked: Mapping[str, Sequence[Criteria]],
    schema: Mapping[str, Any],
) -> Prompt:
    """One prompt for all cases, whose runs the record shows. `asked`: judges by the label of the run."""
    first = cases[0]
    listed = tuple(f for case in cases for f in case.provisional)
    together = replace(first, transcript=record.transcript, provisional=listed)
    full, rest = fenced(record.transcript, first.description, None, listed_for(together, None))
    pictures = chosen((p for case in cases for p in case.pictures), "".join((*full, rest)))
    rules = system_text(
        panel.criteria.rules,
        run_judges(panel),
        Stage.CLOSING,
        lookup=panel.rounds(first) > 0,
        group=True,
        pictures=bool(pictures),
    )
    question = _question(cases, record, asked, decide=bool(listed))
    return Prompt(
        (
            PromptMessage("system", described(rules, first.description), cache=True),
            *cached(full),
            *ending(rest, f"\n{question}", pictures),
        ),
        schema,
        "answer",
        panel.max_answer_tokens,
        Stage.CLOSING.value,
        first.trace.service,
        first.trace.trace_id,
        first.run.id,
        tenant=first.trace.tenant,
    )


def run_judges(panel: LlmJudges) -> tuple[Criteria, ...]:
    """All that look at runs, but those of plans: the same for every group, so that prefix caches serve all."""
    return tuple(judge for judge in panel.judges if Stage.PLAN not in judge.stages)


def _question(
    cases: Sequence[Case], record: GroupRecord, asked: Mapping[str, Sequence[Criteria]], *, decide: bool
) -> str:
    codes = dict.fromkeys(judge.code for judges in asked.values() for judge in judges)
    wanted: dict[str, list[str]] = {}
    for label, judges in asked.items():
        wanted.setdefault(", ".join(judge.code for judge in judges), []).append(label)
    scores = "; ".join(f"for {_each(labels)}: {named}" for named, labels in wanted.items())
    runs = text.ALL_RUNS if len(asked) == len(record.labels) else ", ".join(asked)
    broken = [record.labels[case.run.id] for case in cases if case.run.status == "unfinished"]
    told = [text.TOGETHER.format(runs=runs, codes=", ".join(codes), scores=scores)]
    if broken:
        told.insert(0, f"{', '.join(broken)}: {text.BROKEN_OFF}")
    if decide:
        told.append(text.DECIDE.format(whose=""))
    return " ".join(told)


def _each(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"each of {', '.join(labels)}"
