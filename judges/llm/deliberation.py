"""The prompts of a case, their order, and the evaluation of the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tracejury.schemas.findings import Finding
from tracejury.schemas.transcript import Chapter, PlanView, Transcript

from .answer import parse, schema
from .answer_types import Answer, Vocabulary
from .case import AnsweredPrompt, Case, Deliberating, Deliberation, Stage
from .client import Prompt, Reply
from .conversation import Asking, AskResult, ask, together
from .criteria_types import Criteria
from .gate import Gate
from .identity import ordered
from .members import LlmJudges
from .prompt import Part, prompts
from .prompt_text import HEAD
from .ruling import NO_CONTENT, NO_PLAN, Ruling, captured, may_stay_unscored
from .second_look import MOST_CHARACTERS, LookedAgain, Uncut, look_again


def deliberate(
    case: Case, panel: LlmJudges, chapters: Sequence[Chapter] = (), look: int = MOST_CHARACTERS
) -> Deliberating:
    """Judge a case. `chapters`: the parts in which its transcript is read, none for all at once.

    `look`: characters that a second look may show.

    In panel mode all judges of the run answer one prompt, in separate mode each its own; plans have prompts of their
    own, in the same first batch. Chapters follow one another, each prompt with the notes from the one before. Without
    captured content, or without a plan where a judge needs one, nothing is asked: not applicable.

    Raises:
        OverBudgetError, RetryableError, PromptTooLongError: as they came.
        KeyError: a judge of the case does not sit in the panel.
    """
    session = Deliberator(case, panel, tuple(chapters), look)
    yield from together(session.conversations())
    return session.deliberation()


@dataclass(slots=True)
class Deliberator:
    """A case in the making: what was asked about it, and what came of it."""

    case: Case
    panel: LlmJudges
    chapters: tuple[Chapter, ...]
    look: int
    ruling: Ruling = field(init=False)
    gate: Gate = field(init=False)
    found: list[Finding] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    answered: list[AnsweredPrompt] = field(default_factory=list)
    looks: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)
    unsound: int = 0

    def __post_init__(self) -> None:
        self.ruling = Ruling(self.case, self.panel)
        self.gate = Gate(self.case.trace, self.case.run, self.panel)

    def conversations(self) -> list[Asking[None]]:
        """The conversations of the case; what needs no prompt is decided at once."""
        plans, others = self.prepare()
        return [*plans, *(self._run(group, others) for group in self._groups(others))]

    def prepare(self) -> tuple[list[Asking[None]], list[Criteria]]:
        """The conversations about plans, and the judges to ask about the run; what needs no prompt is decided."""
        case = self.case
        if not captured(case.run):
            self.ruling.set_not_applicable(case.judges, NO_CONTENT)
            return [], []
        judges = [self.panel.judge(name) for name in case.judges]
        planners = [j for j in judges if Stage.PLAN in j.stages and case.stage is not Stage.WINDOW]
        others = [j for j in judges if case.stage in j.stages and j not in planners]
        if case.stage is not Stage.WINDOW and not case.plans:
            planless = [*planners, *(j for j in others if j.needs == "plan")]
            self.ruling.set_not_applicable((j.name for j in planless), NO_PLAN)
            planners, others = [], [j for j in others if j not in planless]
        return [self._plan(group, view) for group in self._groups(planners) for view in case.plans], others

    def _groups(self, judges: Sequence[Criteria]) -> list[tuple[Criteria, ...]]:
        """The judges that answer one prompt together."""
        if self.panel.mode == "separate":
            return [(judge,) for judge in judges]
        return [tuple(judges)] if judges else []

    def _plan(self, judges: Sequence[Criteria], view: PlanView) -> Asking[None]:
        """One plan, by what was known then."""
        names = [judge.name for judge in judges]
        words = vocabulary(judges)
        case = replace(self.case, stage=Stage.PLAN, judges=tuple(names), plans=(view,))
        (prompt,) = prompts(case, self.panel, schema=schema(words, Stage.PLAN, lookup=self.rounds > 0))
        said = yield from self._ask(prompt, names, words, self.uncut(view.transcript), scored=True)
        if said is None:
            return
        self.found += self.gate.findings(said.claims, names, view.transcript, view.label)
        where = view.label + (" (re-plan)" if view.replan else "")
        self.ruling.score_plan(where, said.scores, said.unscored)

    def _run(self, judges: Sequence[Criteria], asked: Sequence[Criteria]) -> Asking[None]:
        """The run, chapter after chapter; findings of an unfinished reading stand, too."""
        names = [judge.name for judge in judges]
        case = replace(self.case, judges=tuple(names), provisional=self._listed(asked))
        words = vocabulary(self._run_judges())
        said = Answer()
        for chapter in self._parts():
            part = replace(chapter, summary=said.summary) if chapter else None
            scored = case.stage is Stage.CLOSING and (part is None or part.last)
            (prompt,) = prompts(case, self.panel, schema=schema(words, lookup=self.rounds > 0), part=part)
            uncut = self.uncut(case.transcript, part)
            answer = yield from self._ask(prompt, names, words, uncut, scored=scored, of_run=True)
            if answer is None:
                return
            self.found += self.gate.findings(answer.claims, names, case.transcript, case.first)
            said = answer
        self.ruling.score(said.scores, said.unscored)
        self.ruling.decide(case.provisional, said.stands, names)

    def _ask(
        self,
        prompt: Prompt,
        names: Sequence[str],
        words: Vocabulary,
        uncut: Uncut,
        *,
        scored: bool,
        of_run: bool = False,
    ) -> Asking[Answer | None]:
        """The answer of these judges, None where there is none: their failure is noted then."""

        def once(prompt: Prompt, may_look: bool) -> Asking[AskResult[Answer]]:  # noqa: FBT001 - a callback
            return ask(prompt, lambda text: parse(text, names, words, scored=scored, may_look=may_look), self._lacks)

        looked = yield from look_again(prompt, once, uncut)
        return self.take(looked, names, of_run=of_run)

    def take(self, looked: LookedAgain, names: Sequence[str], *, of_run: bool) -> Answer | None:
        """Note the answer of these judges; None where there is none."""
        said = looked.said
        self.replies += looked.replies
        if looked.outcome:
            self.looks[looked.outcome.value] += 1
            self.notes.update(dict.fromkeys(names, looked.note))
        if looked.replies:
            self.ruling.models.update(dict.fromkeys(names, looked.replies[-1].model))
        if said.answer is None:
            self.ruling.fail(names, said.failure)
            return None
        if of_run and said.used is not None:
            self.answered.append(AnsweredPrompt(looked.prompt, said.used.text))
        self.unsound += said.answer.unsound
        return said.answer

    @property
    def rounds(self) -> int:
        """How often each question may be followed by a second look."""
        return self.panel.rounds(self.case)

    def uncut(
        self, transcript: Transcript, part: Part | None = None, full: Callable[[], Transcript] | None = None
    ) -> Uncut:
        """The full record behind a question about this transcript, or the part of it that is shown.

        `full`: makes it, where it is not the run's.
        """
        header, steps = (part.chapter.header, part.chapter.steps) if part else (transcript.header, transcript.steps)
        shown = {HEAD: header} | {step.label: step.text for step in steps}
        return Uncut(transcript, shown, full or self.case.uncut or (lambda: transcript), self.rounds, self.look)

    def _lacks(self, answer: Answer) -> str:
        """The problem for which an answer should be repaired, "" for none; one that asks to look comes again anyway."""
        if answer.looks:
            return ""
        for judge, why in answer.unscored.items():
            if not may_stay_unscored(judge, self.case.run):
                return f'"verdicts": {judge}: {why}'
        return "" if answer.claims else answer.problem

    def _run_judges(self) -> list[Criteria]:
        """All judges of such runs but those of plans: their names are the same in windows and at the end."""
        return [j for j in self.panel.of_run(self.case.run.role) if Stage.PLAN not in j.stages]

    def _listed(self, asked: Sequence[Criteria]) -> tuple[Finding, ...]:
        """The provisional findings that those asked decide on."""
        names = {judge.name for judge in asked}
        return tuple(finding for finding in self.case.provisional if finding.judge in names)

    def _parts(self) -> list[Part | None]:
        count = len(self.chapters)
        return [Part(chapter, number, count) for number, chapter in enumerate(self.chapters, 1)] or [None]

    def deliberation(self) -> Deliberation:
        """The answer to the case."""
        dropped = Counter(self.gate.dropped)
        dropped["unsound"] += self.unsound
        findings = ordered(self.case.trace.spans, self.ruling.findings(self.found))
        unquoted = {judge for judge, count in self.gate.unquoted.items() if count} - {f.judge for f in findings}
        return Deliberation(
            verdicts=tuple(replace(v, quote_dropped=v.judge in unquoted) for v in self.ruling.verdicts()),
            findings=findings,
            failures=dict(self.ruling.failures),
            dropped=dict(+dropped),
            known=bool(self.replies) and all(reply.known for reply in self.replies),
            models=tuple(dict.fromkeys(reply.model for reply in self.replies)),
            answered=tuple(self.answered),
            looks=dict(self.looks),
            notes=dict(self.notes),
        )


def vocabulary(judges: Iterable[Criteria]) -> Vocabulary:
    """The codes, names and categories of these judges."""
    seated = tuple(judges)
    categories = dict.fromkeys(category for judge in seated for category in judge.categories)
    return Vocabulary({judge.code: judge.name for judge in seated}, tuple(categories))
