"""Human labels: the kinds that there are, in the vocabulary of findings."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Self

from .errors import ConfigError
from .findings import digest
from .score_filter import meets
from .taxonomy import TRAIL, Dimension, Severity

BEST_SCORE: Final = 3
GENERATOR: Final = "generator"
"""The annotator of simulated sessions that were made to be good or bad; it is no person."""


class Opinion(StrEnum):
    """A person's opinion of a finding, or of an error without one."""

    AGREE = "agree"  # the finding is right
    DISAGREE = "disagree"  # it is no error
    OTHER_SPAN = "other-span"  # it is one, but made at the annotation's span
    MISSED = "missed"  # an error that no finding names


class ErrorLabel(StrEnum):
    """What people say of an error, taken together."""

    RIGHT = "right"  # it is one, made at its primary span or at another one
    WRONG = "wrong"  # it is none
    CONTESTED = "contested"  # some say that it is one, some that it is none: neither right nor wrong


class Better(StrEnum):
    """Which of two conversations a person finds better."""

    FIRST = "first"
    SECOND = "second"
    SAME = "same"  # neither


_SWAPPED: Final = {Better.FIRST: Better.SECOND, Better.SECOND: Better.FIRST, Better.SAME: Better.SAME}


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person says. Each kind of label is one subclass, which API, command line, files and tables are made of.

    Its fields are those of the JSON of the API and, by name, the columns of its table; a text in `Annotated` describes
    one to users of the API. A field without a default must be given, any other one may be left out. `key`: the
    fields that tell the labels of a tenant apart; of those with one key the latest change replaces the others. `verb`,
    `listing` and `taking` name and describe the endpoints.
    `withdrawn`: the annotator took it back; it is kept, and counts nowhere. `changed_at`: unix nanos.
    """

    kind: ClassVar[str]
    plural: ClassVar[str]
    table: ClassVar[str]
    key: ClassVar[tuple[str, ...]]
    verb: ClassVar[str]
    listing: ClassVar[str]
    taking: ClassVar[str]

    annotator: str
    withdrawn: bool = False
    changed_at: int = 0
    tenant: str = ""

    @property
    def place(self) -> str:
        """The values of the key."""
        return "/".join(getattr(self, name) for name in self.key)

    @property
    def problem(self) -> str:
        """Why a label cannot say this, in one line; "" where it can."""
        return ""

    def after(self, old: Self | None) -> Self:  # noqa: ARG002  some kinds need it
        """The label as it replaces an earlier one of its key."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLabel(Label):
    """A label of a trace, or of what is in it."""

    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationDraft(TraceLabel):
    """A person's opinion on a finding, from which all that is left out follows; or a missed error.

    The id of an error stands for its lead, whose label covers the error; earlier ids of it do, too.
    """

    kind = "annotation"
    plural = "annotations"
    table = "annotations"
    key = ("trace_id", "id")  # an imported id may occur in several traces
    verb = "annotate"
    listing = "People's opinions on findings, and errors that no finding names; latest change first."
    taking = "Take opinions and missed errors; one replaces what its annotator said of the same before."

    opinion: Opinion
    finding_id: Annotated[str, "The finding or error that it is about, unless opinion is missed"] = ""
    span_id: Annotated[str, "Where the error was made: of other-span and missed"] = ""
    taxonomy: str = ""
    category: Annotated[str, "Of missed; one of TRAIL's unless taxonomy names another"] = ""
    severity: Annotated[Severity | None, "Of missed; MEDIUM unless given"] = None
    evidence: str = ""
    explanation: str = ""
    judge: str = ""
    agent_run_id: str = ""
    fingerprint: str = ""
    id: Annotated[str, "Of missed, where it has one; else it follows from what it says"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation(AnnotationDraft):
    """One error that a person sees at one span, or sees not where a finding does.

    `id`: see `opinion_id` and `missed_id`. `opinion` other than MISSED is about the finding `finding_id` of `judge`,
    whose fingerprint, category and severity are repeated here as they were, so that the opinion outlives the finding
    (see `opinions_on`).
    """

    id: str
    trace_id: str
    span_id: str
    category: str
    severity: Severity
    taxonomy: str = TRAIL
    opinion: Opinion = Opinion.MISSED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLabel(TraceLabel):
    """A label of an agent run as a whole."""

    key: ClassVar[tuple[str, ...]] = ("trace_id", "agent_run_id", "annotator")

    trace_id: str
    agent_run_id: Annotated[str, "Without it: that of the trace's one manager"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanScore(RunLabel):
    """A person's score of an agent run in one dimension."""

    kind = "score"
    plural = "human-scores"
    table = "human_scores"
    key = (*RunLabel.key, "dimension")
    verb = "score"
    listing = "How good people find agent runs, latest change first."
    taking = "Take scores; one replaces its annotator's score of the same run and dimension."

    dimension: Dimension
    score: Annotated[int | None, "0 to 3, 3 best; null: not applicable"]
    explanation: str = ""

    @property
    def problem(self) -> str:
        """A score out of range."""
        fits = self.score is None or 0 <= self.score <= BEST_SCORE
        return "" if fits else f"score {self.score} is not one of 0 to {BEST_SCORE} ({BEST_SCORE} best), or none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(RunLabel):
    """A person has looked at the whole of an agent run: what is not marked as an error there, is none.

    `stratum` and `probability`: how the queue drew it, "" and 0 where somebody chose it; such a one calibrates nothing.
    Weights of an estimate come from the sizes of strata at that time, not from `probability`: see `Labels.strata`.
    """

    kind = "review"
    plural = "reviews"
    table = "reviews"
    verb = "review"
    listing = "Which agent runs people have looked at as a whole, latest change first."
    taking = "Say that somebody has looked at the whole of agent runs: what they did not mark there, is no error."

    stratum: Annotated[str, "As the queue gave it; without it, it calibrates nothing"] = ""
    probability: Annotated[float, "Likewise"] = 0.0

    @property
    def problem(self) -> str:
        """Half of a draw, or no probability."""
        if bool(self.stratum) != (self.probability > 0):
            return "a review that the queue drew has both a stratum and a probability, others have neither"
        return "" if 0 <= self.probability <= 1 else f"probability {self.probability} is not one of 0 to 1"

    def after(self, old: Self | None) -> Self:
        """Whoever looks again at a run that the queue drew has not chosen it; second thoughts keep the sample whole."""
        if old is None or not old.probability or old.withdrawn or self.probability or self.withdrawn:
            return self
        return replace(self, stratum=old.stratum, probability=old.probability)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOfSessions(Label):
    """A label of one session of a service, or of several. `sessions`: the fields that have their ids.

    Ids of sessions are any text: a label's own `id` follows from what it is about and who says it. A trace without a
    session is one of its own, under the trace's id.
    """

    key: ClassVar[tuple[str, ...]] = ("id",)
    sessions: ClassVar[tuple[str, ...]] = ("session_id",)

    service: Annotated[str, "Without it: the one service that has the session"] = ""
    session_id: str
    id: Annotated[str, "It follows from service, session and annotator"] = ""

    @property
    def session_ids(self) -> tuple[str, ...]:
        """The sessions that it is about."""
        return tuple(getattr(self, name) for name in self.sessions)

    def after(self, old: Self | None) -> Self:
        """A withdrawal that is said now keeps what it takes back."""
        if old is None or not self.withdrawn or self.changed_at:
            return self
        return replace(old, withdrawn=True, changed_at=0)

    def identified(self) -> Self:
        """With its id (32 hex digits)."""
        parts = (self.kind, self.tenant, self.service, *self.session_ids, self.annotator)
        return replace(self, id=digest(parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference(LabelOfSessions):
    """Which of two sessions of a service a person finds better. They are stored in the order of their ids."""

    kind = "preference"
    plural = "preferences"
    table = "preferences"
    sessions = ("session_id", "other_session_id")
    verb = "prefer"
    listing = "Which of two sessions people find better, latest change first."
    taking = "Say which of two sessions is better; one replaces what its annotator said of the same two before."

    other_session_id: str
    better: Annotated[Better, "first: session_id; second: other_session_id; same: neither"]
    explanation: str = ""

    @property
    def problem(self) -> str:
        """A session beside itself."""
        return "" if self.session_id != self.other_session_id else "a session cannot be compared with itself"

    def identified(self) -> Self:
        """With its id, which does not depend on which session is named first."""
        swapped = self
        if self.session_id > self.other_session_id:
            ids, better = (self.other_session_id, self.session_id), _SWAPPED[self.better]
            swapped = replace(self, session_id=ids[0], other_session_id=ids[1], better=better)
        return LabelOfSessions.identified(swapped)  # not super(): classes with slots are made anew


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLabel(LabelOfSessions):
    """Whether a session was good on the whole, and whether its user is satisfied.

    Good needs right tool work and right conduct, however content the user is. `situation`: what went wrong between
    user, tools and agent, or that nothing did.
    """

    kind = "session"
    plural = "session-labels"
    table = "session_labels"
    verb = "label_session"
    listing = "Which sessions people find good and which bad, latest change first."
    taking = "Say whether sessions were good; one replaces what its annotator said of the same session before."

    good: bool
    satisfied: Annotated[bool | None, "Whether the user is satisfied; null: unknown"] = None
    situation: Annotated[str, "The name of a situation, such as correct or wrong-tool-silent"] = ""
    explanation: str = ""


class PatternMark(StrEnum):
    """What a person decides about a pattern of errors."""

    ACKNOWLEDGED = "acknowledged"  # somebody sees to it
    RESOLVED = "resolved"  # it should be gone: from a version on, or from when it was said
    IGNORED = "ignored"  # it is not to be told of: until a time, or for good


_PATTERN_ID: Final = re.compile(r"[0-9a-f]{16}")
_NO_TIME: Final = 2**63
"""Nanoseconds, in the year 2262."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternLabel(Label):
    """What a person decides about a pattern of errors; of several people the last to say something is heard."""

    kind = "pattern"
    plural = "pattern-labels"
    table = "pattern_labels"
    key = ("pattern", "annotator")
    verb = "mark_pattern"
    listing = "What people have decided about patterns of errors, latest change first."
    taking = (
        "Say that a pattern is acknowledged, resolved or ignored; one replaces what its annotator said of it before."
    )

    pattern: Annotated[str, "The id of the pattern"]
    mark: Annotated[PatternMark, "acknowledged, resolved or ignored"]
    version: Annotated[str, "Of resolved: the first version without it; else it is resolved from now on"] = ""
    until: Annotated[int, "Of ignored: until when, in unix nanoseconds; 0: for good"] = 0
    explanation: str = ""

    @property
    def problem(self) -> str:
        """An id that no pattern has; a version or time that means nothing with its mark."""
        if not _PATTERN_ID.fullmatch(self.pattern):
            return f"{self.pattern[:60]!r} is no id of a pattern: it has 16 hex digits"
        if not 0 <= self.until < _NO_TIME:
            return "until is no time that is known"
        if self.version and self.mark is not PatternMark.RESOLVED:
            return "only what is resolved has a version"
        return "only what is ignored has an until" if self.until and self.mark is not PatternMark.IGNORED else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOutcome(Label):
    """That scores of a name, which others give, say whether a session was good; of several people the last is heard.

    Without it no score of others counts anywhere.
    """

    kind = "score-outcome"
    plural = "score-outcomes"
    table = "score_outcomes"
    key = ("name", "annotator")
    verb = "take_scores_for_outcomes"
    listing = "Which scores of others people take for the outcome of sessions, latest change first."
    taking = "Say that scores of a name tell good sessions from bad ones; one replaces what its annotator said before."

    name: Annotated[str, "The name of the scores, such as thumbs"]
    good: Annotated[str, "The comparison that makes a session good, such as >=1 or =up; any other score makes it bad"]
    explanation: str = ""

    @property
    def problem(self) -> str:
        """No comparison."""
        try:
            meets(self.good, None, "")
        except ConfigError as error:
            return str(error)
        return ""


LABELS: Final[tuple[type[Label], ...]] = (
    Annotation,
    HumanScore,
    Review,
    Preference,
    SessionLabel,
    PatternLabel,
    ScoreOutcome,
)
"""All kinds of labels, as they are stored."""
DRAFTS: Final[tuple[type[Label], ...]] = (AnnotationDraft, *LABELS[1:])
"""The same, as people say them."""
TRACE_LABELS: Final = tuple(kind for kind in LABELS if issubclass(kind, TraceLabel))
SESSION_LABELS: Final = tuple(kind for kind in LABELS if issubclass(kind, LabelOfSessions))


def opinion_id(tenant: str, annotator: str, finding_id: str) -> str:
    """One annotator has one opinion on one finding: another one replaces it (32 hex digits)."""
    return digest(("opinion", tenant, annotator, finding_id))


def missed_id(tenant: str, annotator: str, trace_id: str, span_id: str, taxonomy: str, category: str) -> str:
    """One annotator marks one missed error a span and category, unless it has an id of its own (32 hex digits)."""
    return digest(("missed", tenant, annotator, trace_id, span_id, taxonomy, category))
