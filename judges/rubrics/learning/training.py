"""The sessions that rubrics are learned from, and what is learned of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Literal

from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.item_source import RecordedSubject
from tracejury.judges.llm.client import Prompt
from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.rubrics.rubric_set import Label, Method, SessionKey
from tracejury.judges.writing.answers import WritingAnswer
from tracejury.judges.writing.prompts import writing_prompt
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.text.counting import counted
from tracejury.schemas.verdicts import Subject, SubjectKind, session_subject_id

LEAST_SESSIONS: Final = 10
LEAST_OF_A_LABEL: Final = 3
TOP_P: Final = 0.99
"""Of all calls, as in the paper."""
CREATIVE: Final = 0.7
"""Temperature of areas and reasons; 0 after."""


@dataclass(frozen=True)
class LabelledSession:
    """A session with what people agree on. `recorded`: the session as checks are asked about it at its close.

    The session id of a trace without one is the id of the trace.
    """

    key: SessionKey
    recorded: RecordedSubject
    label: AgreedLabel

    def case(self, checks: Sequence[AskedCheck] = ()) -> CheckCase:
        """The session before these checks."""
        service, session_id = self.key
        subject = Subject(SubjectKind.SESSION, session_subject_id(service, session_id), "")
        return CheckCase(subject, self.recorded.record, self.recorded.traces, tuple(checks), service)


@dataclass(frozen=True, slots=True)
class Learning:
    """How a set is learned. `areas`: whether SCOPE splits reasons by areas; `learn_from`: which label is learned.

    `max_tokens`: the most of an answer. `sampling`: whether calls say temperature and top_p, which some models refuse.
    """

    method: Method = "scope"
    areas: bool = True
    learn_from: Literal["good", "satisfied"] = "good"
    max_tokens: int = 8192
    sampling: bool = True

    def prompt(
        self, rules: str, unit: str, question: str, answer: type[WritingAnswer], temperature: float = 0.0
    ) -> Prompt:
        """A prompt beside those about single sessions; see `writing_prompt`."""
        made = writing_prompt(rules, unit, question, answer, max_tokens=self.max_tokens, purpose="rubrics")
        return replace(made, temperature=temperature, top_p=TOP_P) if self.sampling else made

    def label(self, session: LabelledSession) -> Label | None:
        """The label of a session; that of SPUR stands for satisfied and dissatisfied. None: nobody says."""
        said = session.label.good if self.learn_from == "good" else session.label.satisfied
        return None if said is None else "good" if said else "bad"

    def word(self, label: Label) -> str:
        """The label in the words of a prompt."""
        return _TOLD[self.learn_from][label][1]

    def meaning(self, label: Label) -> str:
        """What the label means, in a sentence."""
        return _TOLD[self.learn_from][label][2]

    def counted(self, label: Label) -> str:
        """The sessions of a label among the counts of a set."""
        return f"sessions-{_TOLD[self.learn_from][label][0]}"


_SATISFACTION: Final = "What the user saw or could notice decides that, not whether the work was right."
_TOLD: Final[dict[str, dict[Label, tuple[str, str, str]]]] = {
    "good": {
        "good": (
            "good",
            "good on the whole",
            "Both its tool work and the agent's conduct were right, however content the user is.",
        ),
        "bad": (
            "bad",
            "bad on the whole",
            "Its tool work or the agent's conduct was not right, however content the user is.",
        ),
    },
    "satisfied": {
        "good": ("satisfied", "one with a satisfied user", _SATISFACTION),
        "bad": ("dissatisfied", "one with a dissatisfied user", _SATISFACTION),
    },
}

Training = list[tuple[LabelledSession, Label]]
"""Sessions with the label that is learned."""


def training(sessions: Iterable[LabelledSession], how: Learning) -> Training:
    """The sessions that are learned from, in an order that is random but fixed, whatever theirs was.

    Raises:
        PermanentError: they are too few; one line.
    """
    ordered = sorted(sessions, key=lambda one: sha256(json.dumps(one.key).encode()).hexdigest())
    found = [(one, label) for one in ordered if (label := how.label(one)) is not None]
    if len(found) < LEAST_SESSIONS:
        what = "sessions" if how.learn_from == "good" else "sessions with a label of satisfaction"
        raise PermanentError(f"{len(found)} labelled {what}: at least {LEAST_SESSIONS} are needed to learn from")
    enough(Counter(label for _, label in found), how)
    return found


def enough(sessions: Counter[Label], how: Learning, why: str = "") -> None:
    """Refuse too few sessions of a label. `why`: ends the line.

    Raises:
        PermanentError: there are fewer than 3 of one.
    """
    for label in ("good", "bad"):
        if (n := sessions[label]) < LEAST_OF_A_LABEL:
            told = f"{counted(n, 'session')} to learn from, {how.word(label)}: at least {LEAST_OF_A_LABEL} are needed"
            raise PermanentError(f"{told}{why}")
