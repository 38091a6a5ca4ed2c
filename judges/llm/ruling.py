"""Verdicts of a case, and which provisional findings stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import Dimension
from tracejury.schemas.trajectory import AgentRun
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

from .answer_items import MAX_TEXT
from .answer_types import Score
from .case import Case, Stage
from .criteria_types import GPA_JUDGES
from .members import LlmJudges
from .record import MOST_LISTED

NO_PLAN = "no plan: the run had no choice, or its calls came without words"
NO_CONTENT, UNFINISHED = "no content captured", "the run did not finish"
"""Why a judge has nothing to judge."""


@dataclass(slots=True)
class Ruling:
    """Collects the answers to a case.

    `scores` and `failures` by judge; `silent`: judges without any answer; `models`: that answered, by judge; `decided`:
    id of a provisional finding to whether it stands; `plans`: by judge, each plan's name and score.
    """

    case: Case
    panel: LlmJudges
    scores: dict[str, Score] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    models: dict[str, str] = field(default_factory=dict)
    decided: dict[str, bool] = field(default_factory=dict)
    plans: dict[str, list[tuple[str, Score]]] = field(default_factory=dict)

    def set_not_applicable(self, judges: Iterable[str], why: str) -> None:
        """There is nothing to judge for these."""
        self.scores.update((judge, Score(None, why)) for judge in judges)

    def fail(self, judges: Iterable[str], why: str) -> None:
        """These gave no answer (to one of their prompts)."""
        for judge in judges:
            self.failures.setdefault(judge, why)
            self.silent.add(judge)

    def score(self, scores: Mapping[str, Score], unscored: Mapping[str, str]) -> None:
        """One answer's scores, and why asked judges have none."""
        self.scores.update(scores)
        for judge, why in unscored.items():
            if may_stay_unscored(judge, self.case.run):
                self.scores[judge] = Score(None, UNFINISHED)
            else:
                self.failures.setdefault(judge, why)

    def score_plan(self, where: str, scores: Mapping[str, Score], unscored: Mapping[str, str]) -> None:
        """One plan's scores; a judge's score is the lowest of all plans, its reasons name each."""
        for judge, score in scores.items():
            plans = self.plans.setdefault(judge, [])
            plans.append((where, score))
            worst = min((s.score for _, s in plans if s.score is not None), default=None)
            told = [f"{w}: {'not applicable' if s.score is None else s.score}. {s.reasons}" for w, s in plans]
            self.scores[judge] = Score(worst, "\n".join(told)[:MAX_TEXT])
        self.score({}, {judge: f"plan at {where}: {why}" for judge, why in unscored.items()})

    def decide(self, provisional: Sequence[Finding], stands: Mapping[int, bool], judges: Sequence[str]) -> None:
        """One answer's decisions by number, each on findings of `judges`; unlisted findings stand."""
        for number, finding in enumerate(provisional, 1):
            if finding.judge in judges and (number in stands or number > MOST_LISTED):
                self.decided[finding.id] = stands.get(number, True)

    def verdicts(self) -> tuple[Verdict, ...]:
        """One a judge of the case, in its order; none at a window."""
        return () if self.case.stage is Stage.WINDOW else tuple(map(self._verdict, self.case.judges))

    def _verdict(self, judge: str) -> Verdict:
        failure = self.failures.get(judge, "")
        score = None if failure else self.scores.get(judge)
        return Verdict(
            judge=judge,
            version=self.panel.version(judge),
            subject=subject(self.case),
            score=score.score if score else None,
            model=self.models.get(judge, ""),
            not_applicable=score is not None and score.score is None,
            unscored_reason="" if score else failure or "it was not asked",
            reasons=score.reasons if score else "",
            sampling_probability=self.case.probability,
        )

    def findings(self, new: Iterable[Finding]) -> list[Finding]:
        """The new ones and the provisional ones that stand, each once.

        A provisional finding stands if it was confirmed; if nobody decided on it and it was found again (then it keeps
        its identity); or if its judge has failed, which takes nothing back.
        """
        found = list(new)
        standing = [p for p in self.case.provisional if self._stands(p, found)]
        return standing + [f for f in found if not any(self._same(p, f) for p in standing)]

    def _stands(self, old: Finding, found: Iterable[Finding]) -> bool:
        if old.judge in self.silent or old.judge not in self.case.judges:
            return True
        if old.id in self.decided:
            return self.decided[old.id]
        return any(self._same(old, new) for new in found)

    def _same(self, old: Finding, new: Finding) -> bool:
        """Whether they say the same of one span; each judge for itself where judges are asked apart."""
        return old.fingerprint == new.fingerprint and (self.panel.mode == "panel" or old.judge == new.judge)


def may_stay_unscored(judge: str, run: AgentRun) -> bool:
    """Whether the judge may pass: what an unfinished run's goal came to cannot be known."""
    return run.status == "unfinished" and judge == GPA_JUDGES[Dimension.GOAL_FULFILMENT]


def subject(case: Case) -> Subject:
    """The subject of the verdicts: the run, or the turns of the plans that are judged while it goes on."""
    trace = case.trace
    if case.stage is Stage.PLAN and case.plans:
        turns = [view.turn for view in case.plans]
        name = f"{case.run.id}:{min(turns)}-{max(turns)}"
        return Subject(SubjectKind.TURN_WINDOW, name, trace.trace_id, trace.tenant)
    return Subject(SubjectKind.AGENT_RUN, case.run.id, trace.trace_id, trace.tenant)


def captured(run: AgentRun) -> bool:
    """Whether anything that was said or done in the run was recorded, beyond names and times."""
    if run.goal or run.answer:
        return True
    for turn in run.turns:
        if turn.observation or any(m.text or m.tool_requests for m in turn.new_messages):
            return True
        if turn.llm and (turn.text or turn.llm.input_text or turn.llm.output_messages):
            return True
        if any(call.arguments or call.result or call.error for call in turn.tool_calls):
            return True
    return False
