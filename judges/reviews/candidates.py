"""The judges' second question: which of the detectors' errors in a run are right.

The judges make their own list first, so that no report leads them. The question then follows their answer on the same
prefix. It is a review whose items are the errors.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.item_source import FINDINGS
from tracejury.judges.checks.questions import CheckQuestion
from tracejury.judges.checks.reply import SCHEMA
from tracejury.judges.llm.case import AnsweredPrompt, Case, Deliberation, Outcomes
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.record import mark, one_line
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Verification

from .detected_errors import DetectedError, DetectedErrors
from .review import ReviewAnswers, ask_review, question_of, review_text

QUESTION: Final = (
    "Your answer stands; do not repeat it. The items are errors that automatic rules report in the same record without "
    "knowing your answer. Rules see form rather than sense: some reports are right and some are wrong. Answer each for "
    "itself, by the record alone. `confirmed`: the record shows it, and it was wrong to do at that step; a detail told "
    "wrongly refutes nothing. `refuted`: the record shows that it did not happen, or that it was right to do, and "
    "`reason` names the step that shows it; that you did not report it, or that it did little harm, refutes nothing. "
    "`not-judged`: what would decide it is cut, was not recorded, or can be read in both ways."
)

NO_ANSWER: Final = "The judge gave no answer that can be used."
NO_REASON: Final = "The judge refuted it without a reason."
SAME: Final = "The judge reported the same error before it knew of this report."

PURPOSE: Final = "candidates"

ANSWERS: Final[Mapping[str, Verification]] = {
    "confirmed": Verification.VERIFIED,
    "refuted": Verification.REFUTED,
    "not-judged": Verification.UNVERIFIED,
}

CHECK: Final = Check(
    name="reports",
    measure="R",
    title="Reports of detectors",
    definition="Whether errors that the detectors report are right.",
    subject="agent-run",
    items=FINDINGS,
    scale=tuple(ANSWERS),
    question=QUESTION,
    best="the record shows it",
    category="Wrong report",
    explain="Asked of the detectors' errors in a run after the judges' own list.",
)

_MOST_PLACES: Final = 5
"""Further steps of an error that are named."""


@dataclass(frozen=True, slots=True)
class CandidatesReview:
    """`opinions` on the detectors' findings; `unanswered`: errors about which no reply came, for `failure`."""

    opinions: tuple[DetectorOpinion, ...] = ()
    unanswered: int = 0
    failure: str = ""

    def __add__(self, other: CandidatesReview) -> CandidatesReview:
        unanswered = self.unanswered + other.unanswered
        return CandidatesReview((*self.opinions, *other.opinions), unanswered, other.failure or self.failure)


def review_candidates(
    case: Case, said: Deliberation, errors: DetectedErrors
) -> Generator[Sequence[Prompt], Outcomes, CandidatesReview]:
    """Ask the judges of a closing pass, whose answer is `said`, about the detectors' errors. Raises nothing.

    Of several runs in one record, any of the cases stands for all.

    Where a reply comes, every error asked about has an opinion: without a usable answer, or refuted without a reason,
    it is unverified. Where none comes, over budget for example, nothing is said of it.
    """
    opinions = [
        opinion
        for error in errors.known
        for opinion in _on(error, Verification.VERIFIED, said.models[-1] if said.models else "", SAME)
    ]
    unanswered, failure = 0, ""
    for answered, asked in _dealt(case, said.answered, errors.asked):
        answers = yield from _ask(candidates_prompt(case, answered, asked), _question(case, asked))
        if answers.replies:
            opinions += _opinions(answers, asked)
        else:
            unanswered, failure = unanswered + len(asked), answers.failure
    return CandidatesReview(tuple(opinions), unanswered, failure)


def candidates_prompt(case: Case, answered: AnsweredPrompt, asked: Sequence[DetectedError]) -> Prompt:
    """The question about these errors, behind the judges' answer."""
    text = review_text(_question(case, asked), mark(case.transcript))
    follow = (PromptMessage("assistant", answered.reply), PromptMessage("user", text))
    return replace(answered.prompt, messages=(*answered.prompt.messages, *follow), schema=SCHEMA, purpose=PURPOSE)


def _dealt(
    case: Case, answered: Sequence[AnsweredPrompt], asked: Sequence[DetectedError]
) -> list[tuple[AnsweredPrompt, list[DetectedError]]]:
    """Each error with the first answer whose prompt shows its step; with the last where none does."""
    labels = _labels(case)
    dealt: dict[int, list[DetectedError]] = {}
    for error in asked if answered else ():
        shown = (n for n, one in enumerate(answered) if _shows(one.prompt, _label(error, labels)))
        dealt.setdefault(next(shown, len(answered) - 1), []).append(error)
    return [(answered[number], errors) for number, errors in sorted(dealt.items())]


def _shows(prompt: Prompt, label: str) -> bool:
    """Whether the record has the step of that label: recorded lines are indented, so that none is taken for ours."""
    begins = re.compile(rf"^{re.escape(label)}(?=\s|$)", re.MULTILINE)
    return bool(label) and any(begins.search(message.text) for message in prompt.messages if message.role == "user")


def _ask(prompt: Prompt, question: CheckQuestion) -> Generator[Sequence[Prompt], Outcomes, ReviewAnswers]:
    """One question with its repair; no outcome is raised, for the answer that stands must not be lost."""
    asking = ask_review(prompt, question)
    try:
        prompt = next(asking)
        while True:
            (outcome,) = yield (prompt,)
            prompt = asking.send(outcome)
    except StopIteration as end:
        answers: ReviewAnswers = end.value
        return answers


def _question(case: Case, asked: Sequence[DetectedError]) -> CheckQuestion:
    labels = _labels(case)
    return question_of(CHECK, [CheckItem(_told(error, labels), _label(error, labels)) for error in asked])


def _labels(case: Case) -> Mapping[str, str]:
    """Span id to the label of its first step."""
    return {step.span_id: step.label for step in reversed(case.transcript.steps)}


def _label(error: DetectedError, labels: Mapping[str, str]) -> str:
    """The label of the step where the error is, or showed; "" where no step of the run shows it."""
    spans = (error.lead.span_id, error.lead.tool_span_id, error.lead.seen_by_span_id)
    return next((labels[span_id] for span_id in spans if span_id in labels), "")


def _told(error: DetectedError, labels: Mapping[str, str]) -> str:
    """The error in one line: title, quote, claim, further steps."""
    lead = error.lead
    quote = one_line(lead.evidence, 160)
    places = dict.fromkeys(labels[i] for f in error.findings for i in (f.span_id, *f.also_at) if i in labels)
    also = [label for label in places if label != _label(error, labels)][:_MOST_PLACES]
    parts = [one_line(lead.shown_title, 160), *([f'"{quote}"'] if quote else []), one_line(lead.explanation, 300)]
    return ": ".join(parts) + (f" (also at {', '.join(also)})" if also else "")


def _opinions(answers: ReviewAnswers, asked: Sequence[DetectedError]) -> Iterator[DetectorOpinion]:
    for position, error in enumerate(asked):
        said = answers.said.get(position)
        word, reason = (ANSWERS[said.answer], said.reason) if said else (Verification.UNVERIFIED, NO_ANSWER)
        if word is Verification.REFUTED and not reason:
            word, reason = Verification.UNVERIFIED, NO_REASON
        yield from _on(error, word, answers.model, reason)


def _on(error: DetectedError, word: Verification, by: str, reason: str) -> Iterator[DetectorOpinion]:
    return (DetectorOpinion.on(finding, word, by, reason) for finding in error.open)
