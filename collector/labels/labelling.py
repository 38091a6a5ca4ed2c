"""Taking labels of people: checked against the store, completed, and kept.

One annotator has one opinion on one finding; another one replaces it. What is withdrawn stays so until its annotator
says something new. A label with a time of change (one from elsewhere) counts only where nothing later is known.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final, TypeVar

from tracejury.collector.queries.reader import LabelT
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.judges.measures.error_labels import label_of, labels_on
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import (
    Annotation,
    AnnotationDraft,
    Label,
    LabelOfSessions,
    Opinion,
    RunLabel,
    missed_id,
    opinion_id,
)
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.findings import Finding, fingerprint
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.taxonomy import Severity

from .checks import MAX_TEXT, a_category, an_id, checked
from .surroundings import Surroundings

MICROSECOND: Final = 1_000
"""Nanos: changes are told apart, and written down elsewhere, by the microsecond."""
LabelOfSessionsT = TypeVar("LabelOfSessionsT", bound=LabelOfSessions)

SKEW: Final = 300_000_000_000
"""Nanos by which another machine's clock may be ahead."""


class Labelling:
    """One request's labels: take them one by one, then `save`. Reads block; a label that is refused leaves no trace.

    `now`: unix nanos. `only_new`: leave alone what anybody has said under that identity, withdrawn or not.
    `take` gives what stands then, and raises ConfigError for what a label cannot say, NotFoundError where what
    it is about is not stored, and what the store raises.
    """

    def __init__(self, reader: StoredReader, now: int, *, only_new: bool = False) -> None:
        self._labels, self._now = reader.labels, now // MICROSECOND * MICROSECOND
        self._errors = reader.error
        self._only_new, self._tenant = only_new, reader.tenant
        self._about = Surroundings(reader)
        self._changed: list[Label] = []

    @property
    def changed(self) -> int:
        """How many labels `save` will write."""
        return len(self._changed)

    def save(self) -> None:
        """Keep what is new. Raises RetryableError, StoreError."""
        changed, self._changed = self._changed, []
        self._labels.save(changed)

    def take(self, said: LabelT) -> LabelT:
        """A label of any kind."""
        if isinstance(said, AnnotationDraft):
            return self.take_opinion(said)  # type: ignore[return-value]  # an annotation is a draft, too
        said = replace(checked(said), tenant=self._tenant)
        if isinstance(said, LabelOfSessions):
            return self._of_sessions(said)
        kept = self._about.kept(type(said), trace_id=getattr(said, "trace_id", ""))
        old = kept.get(said.place)
        if old is not None and self._stays(old, said.changed_at):
            return old
        if isinstance(said, RunLabel):
            trace_id, run_id = self._about.run(said.trace_id, said.agent_run_id)
            said = replace(said, trace_id=trace_id, agent_run_id=run_id)
            kept = self._about.kept(type(said), trace_id=trace_id)
        return self._take(said.after(kept.get(said.place)), kept)

    def _of_sessions(self, said: LabelOfSessionsT) -> LabelOfSessionsT:
        named = said.identified()
        old = self._about.kept(type(said), id=named.id).get(named.place)
        if old is not None and self._stays(old, said.changed_at):
            return old
        named = replace(said, service=self._about.service(said.service, said.session_ids)).identified()
        kept = self._about.kept(type(said), id=named.id)
        return self._take(named.after(kept.get(named.place)), kept)

    def take_opinion(self, said: AnnotationDraft) -> Annotation:
        """An opinion on a finding, or a missed error."""
        said = checked(said)
        if said.category or said.opinion is Opinion.MISSED:
            said = replace(said, category=a_category(said.taxonomy, said.category))
        if said.trace_id:
            old = self._about.kept(Annotation, trace_id=said.trace_id).get(replace(said, id=self._id(said)).place)
            if old is not None and self._stays(old, said.changed_at):
                return old
        error = None
        if said.opinion is not Opinion.MISSED and (error := self._error(said)):
            said = replace(said, finding_id=error.findings[0])
        new = self._missed(said) if said.opinion is Opinion.MISSED else self._opinion(said)
        kept = self._about.kept(Annotation, trace_id=new.trace_id)
        taken = self._take(new, kept)
        if error is not None and not taken.withdrawn and not said.changed_at:
            self._withdraw_contrary(taken, error, kept)
        return taken

    def withdraw(self, annotation_id: str, annotator: str = "", trace_id: str = "") -> Annotation:
        """Take an annotation back, where one is named, of that annotator only, and of that trace.

        Raises:
            NotFoundError: there is none. ConfigError: several traces have one of that id.
        """
        some_id, trace_id = annotation_id.strip(), an_id("trace_id", trace_id)
        query = LabelQuery(2, id=some_id, annotator=annotator, trace_id=trace_id, withdrawn=True)
        found = self._labels.find(Annotation, query) if query.id else ()
        if not found:
            of = f" of {annotator[:64]!r}" if annotator else ""
            raise NotFoundError(f"no annotation {annotation_id[:64]!r}{of} is stored")
        if len(found) > 1:
            raise ConfigError(f"several traces have an annotation {annotation_id[:64]!r}: name the trace")
        kept = self._about.kept(Annotation, trace_id=found[0].trace_id)
        return self._take(replace(found[0], withdrawn=True, changed_at=0), kept)

    def withdraw_opinion(self, some_id: str, annotator: str) -> Annotation:
        """Take back what an annotator said of a finding or, by its id, of an error.

        Raises:
            NotFoundError: they said nothing of it.
        """
        said = checked(AnnotationDraft(annotator=annotator, opinion=Opinion.AGREE, finding_id=some_id))
        error = self._error(said)
        finding_id = error.findings[0] if error else said.finding_id
        try:
            return self.withdraw(opinion_id(self._tenant, said.annotator, finding_id), said.annotator)
        except NotFoundError:
            raise NotFoundError(f"{said.annotator} has said nothing of {some_id[:64]!r}") from None

    def _error(self, said: AnnotationDraft) -> ErrorSummary | None:
        """The error that an id names which is of no finding; an earlier id of an error names the one it is by now.

        What names a judge is of a finding, also of one of another store.
        """
        some_id = said.finding_id
        if not some_id or said.judge or self._labels.finding(some_id) is not None:
            return None
        view = self._errors(some_id, Confidence(0.0, 0.0))
        return view.located.error if view else None

    def _withdraw_contrary(self, taken: Annotation, error: ErrorSummary, kept: dict[str, Annotation]) -> None:
        """Take back what its annotator said to the contrary of other findings at the error's primary span."""
        own = [a for a in kept.values() if a.annotator == taken.annotator and a.finding_id in error.findings]
        for a in labels_on([error], [a for a in own if not a.withdrawn]).get(error.id, ()):
            if label_of([a]) is not label_of([taken]):
                self._take(replace(a, withdrawn=True, changed_at=0), kept)

    def _id(self, said: AnnotationDraft) -> str:
        if said.opinion is not Opinion.MISSED:
            return opinion_id(self._tenant, said.annotator, said.finding_id)
        parts = (said.trace_id, said.span_id, said.taxonomy, said.category)
        return said.id or missed_id(self._tenant, said.annotator, *parts)

    def _missed(self, said: AnnotationDraft) -> Annotation:
        if not said.trace_id or not said.span_id:
            raise ConfigError("a missed error needs trace_id, span_id and category")
        self._about.must_know(said.trace_id, said.span_id)
        return self._annotation(said, agent_run_id=self._about.run_of_span(said.trace_id, said.span_id))

    def _opinion(self, said: AnnotationDraft) -> Annotation:
        if not said.finding_id:
            raise ConfigError(f"an opinion other than {Opinion.MISSED} needs finding_id")
        finding = self._labels.finding(said.finding_id)
        if finding is None:
            return self._of_elsewhere(said)
        if said.trace_id not in ("", finding.trace_id):
            raise ConfigError(f"finding {finding.id} is of trace {finding.trace_id}, not of {said.trace_id[:64]!r}")
        moved = said.opinion is Opinion.OTHER_SPAN
        if moved and said.span_id in ("", finding.span_id):
            raise ConfigError(f"{Opinion.OTHER_SPAN} needs the span_id where the error was made, another than found")
        if moved:
            self._about.must_know(finding.trace_id, said.span_id)
        elif said.span_id not in ("", finding.span_id):
            raise ConfigError(
                f"finding {finding.id} is at span {finding.span_id}; another one takes {Opinion.OTHER_SPAN}"
            )
        # An error that was made in another run is that run's; where that span is in none, nobody else can have it.
        run_id = self._about.run_of_span(finding.trace_id, said.span_id) if moved else ""
        return self._annotation(_completed(said, finding), run_id or finding.agent_run_id)

    def _of_elsewhere(self, said: AnnotationDraft) -> Annotation:
        """An opinion on a finding that is not stored here, such as that of another version or store."""
        if not (said.trace_id and said.span_id and said.category and said.judge):
            raise NotFoundError(f"no finding {said.finding_id[:64]!r} is stored")
        self._about.must_know(said.trace_id, said.span_id)
        if said.opinion is not Opinion.OTHER_SPAN:  # whose own span is not that of the finding
            parts = (said.trace_id, said.span_id, said.taxonomy, said.category)
            said = replace(said, fingerprint=fingerprint(self._tenant, *parts))
        return self._annotation(said, said.agent_run_id or self._about.run_of_span(said.trace_id, said.span_id))

    def _annotation(self, said: AnnotationDraft, agent_run_id: str) -> Annotation:
        said = replace(said, id=self._id(said), agent_run_id=agent_run_id, tenant=self._tenant)
        given: dict[str, Any] = {field.name: getattr(said, field.name) for field in fields(said)}
        return Annotation(**given | {"severity": said.severity or Severity.MEDIUM})

    def _take(self, label: LabelT, kept: dict[str, LabelT]) -> LabelT:
        """`label` as it is to be kept from now on, or what stands in its place."""
        old, given = kept.get(label.place), label.changed_at
        if old is not None:
            if old.annotator != label.annotator:
                own_id = getattr(label, label.key[-1])
                raise ConfigError(
                    f"{own_id[:64]!r} is what {old.annotator!r} said; {label.annotator!r} cannot change it"
                )
            if self._stays(old, given) or (not given and replace(label, changed_at=old.changed_at) == old):
                return old
        if given > self._now + SKEW:
            raise ConfigError("changed_at lies in the future")
        label = replace(label, changed_at=given or max(self._now, old.changed_at + MICROSECOND if old else 0))
        kept[label.place] = label
        self._changed.append(label)
        return label

    def _stays(self, old: Label, given: int) -> bool:
        return self._only_new or bool(given and old.changed_at >= given)


def _completed(said: AnnotationDraft, finding: Finding) -> AnnotationDraft:
    """With what follows from the finding; the severity that an older finding of that id had is kept."""
    return replace(
        said,
        trace_id=finding.trace_id,
        span_id=said.span_id or finding.span_id,
        taxonomy=finding.taxonomy,
        category=finding.category,
        severity=said.severity if said.changed_at and said.severity else finding.severity,
        evidence=said.evidence or finding.evidence[:MAX_TEXT],
        judge=finding.judge,
        fingerprint=finding.fingerprint,
    )
