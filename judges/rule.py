"""A detector made of data and one function over the facts of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Final

from tracejury.schemas.findings import Draft, OtherSpans
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import Trace

from .base import Context, RuleScope
from .facts import RunFacts
from .quoting import quote_content


@dataclass(frozen=True, slots=True)
class Hit(OtherSpans):
    """One place where a rule fires; fields as in `Draft`.

    Without evidence, or with the span's name for it, the span's content is quoted; the name only if none was captured.
    `severity`, `confidence`, `title`: where they are not the rule's. `turn`: of a span that belongs to the whole run.
    """

    span_id: str
    evidence: str
    explanation: str
    severity: Severity | None = None
    confidence: float | None = None
    turn: int | None = None
    title: str = ""
    template: str = ""


_OTHER_SPANS: Final = tuple(field.name for field in fields(OtherSpans))

Find = Callable[[RunFacts, Context], Iterable[Hit]]


@dataclass(frozen=True, slots=True, eq=False)
class RunRule:
    """A detector that looks at one agent run at a time.

    `title`: the error in a few words, as people see it.
    `confidence`: the rule's precision on the annotated traces (docs/detectors.md). `of_absence`: it claims that
    something is missing, so it looks only at runs of which nothing more is expected. `of_failure`: it claims something
    about a failure, a refusal or an agent that gave up, so it looks only at runs with one. `scope`: see `RuleScope`.
    """

    name: str
    category: str
    dimensions: tuple[Dimension, ...]
    severity: Severity
    find: Find
    confidence: float = 0.5
    version: int = 3
    of_absence: bool = False
    title: str = ""
    scope: RuleScope = RuleScope.TRACE
    of_failure: bool = False

    def detect(self, trace: Trace, ctx: Context) -> Iterator[Draft]:
        """One draft a hit, in order of the runs."""
        del trace
        for facts in ctx.facts.values():
            if (self.of_absence and not facts.settled) or (self.of_failure and not facts.troubled):
                continue
            if self.scope is RuleScope.TRACE:
                for hit in self.find(facts, ctx):
                    yield self._draft(hit, facts, ctx)
                continue
            found = facts.memo.get(self)
            if found is None:
                found = facts.memo[self] = [self._draft(hit, facts, ctx) for hit in self.find(facts, ctx)]
            yield from found

    def _draft(self, hit: Hit, facts: RunFacts, ctx: Context) -> Draft:
        place = ctx.place(facts.run, hit.span_id)
        span, turn = place or (ctx.spans[hit.span_id], hit.turn)
        empty = hit.evidence.strip() in ("", span.raw.name)
        return Draft(
            judge=self.name,
            span_id=hit.span_id,
            category=self.category,
            dimensions=self.dimensions,
            severity=hit.severity or self.severity,
            confidence=self.confidence if hit.confidence is None else hit.confidence,
            evidence=quote_content(span) if empty else hit.evidence,
            explanation=hit.explanation,
            agent_run_id=facts.run.id,
            turn=turn,
            title=hit.title or self.title,
            template=hit.template,
            **{name: getattr(hit, name) for name in _OTHER_SPANS},
        )


def rule(
    name: str,
    category: str,
    dimensions: str,
    severity: str,
    find: Find,
    *,
    confidence: float = 0.5,
    version: int = 3,
    of_absence: bool = False,
    of_failure: bool = False,
    title: str = "",
    scope: str = "trace",
) -> RunRule:
    """A `RunRule` as a row of a table: `dimensions` as in "PA TS", `severity` and `scope` by name."""
    return RunRule(
        name,
        category,
        tuple(Dimension(letters) for letters in dimensions.split()),
        Severity(severity),
        find,
        confidence,
        version,
        of_absence,
        title,
        RuleScope(scope),
        of_failure,
    )
