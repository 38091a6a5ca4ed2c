"""A detector made of data and one function over the facts of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Final

from ..schemas.findings import Draft
from ..schemas.taxonomy import Dimension, Severity
from ..schemas.trajectory import Trace
from .base import Context, RuleScope
from .facts import RunFacts
from .quoting import quote_content
from .rest_of_trace import RestOfTrace


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a rule fires; fields as in `Draft`.

    Without evidence, or with the span's name for it, the span's content is quoted; the name only if none was captured.
    `severity`, `confidence`: where they are not the rule's. `turn`: of a span that belongs to the run as a whole.
    """

    span_id: str
    evidence: str
    explanation: str
    tool_span_id: str = ""
    seen_by_span_id: str = ""
    also_at: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    severity: Severity | None = None
    confidence: float | None = None
    turn: int | None = None


_PLACE: Final = tuple(f.name for f in fields(Hit))

Find = Callable[[RunFacts, Context], Iterable[Hit]]


@dataclass(frozen=True, slots=True)
class RunRule:
    """A detector that looks at one agent run at a time.

    `title`: the error in a few words, as people see it.
    `confidence`: the rule's precision on the annotated traces (docs/detectors.md). `of_absence`: it claims that
    something is missing, so it looks only at runs of which nothing more is expected. `scope`: see `RuleScope`.
    """

    name: str
    category: str
    dimensions: tuple[Dimension, ...]
    severity: Severity
    find: Find
    confidence: float = 0.5
    version: int = 2
    of_absence: bool = False
    title: str = ""
    scope: RuleScope = RuleScope.TRACE

    def detect(self, trace: Trace, ctx: Context) -> Iterator[Draft]:
        """One draft a hit, in order of the runs."""
        del trace
        return (draft for facts in ctx.facts.values() for draft in self.detect_in(facts, ctx))

    def detect_in(self, facts: RunFacts, ctx: Context) -> Iterator[Draft]:
        """One draft a hit in a run."""
        if self.of_absence and not facts.settled:
            return
        for hit in self.find(facts, ctx):
            place = {name: getattr(hit, name) for name in _PLACE}
            place["severity"] = hit.severity or self.severity
            place["confidence"] = self.confidence if hit.confidence is None else hit.confidence
            span = facts.spans.get(hit.span_id) or ctx.ask(RestOfTrace.span, hit.span_id)
            if hit.evidence.strip() in ("", span.raw.name):
                place["evidence"] = quote_content(span)
            yield Draft(
                judge=self.name,
                category=self.category,
                dimensions=self.dimensions,
                title=self.title,
                agent_run_id=facts.run.id,
                **place,
            )


def rule(
    name: str,
    category: str,
    dimensions: str,
    severity: str,
    find: Find,
    *,
    confidence: float = 0.5,
    version: int = 2,
    of_absence: bool = False,
    title: str = "",
    scope: str = "trace",
) -> RunRule:
    """A `RunRule` as a row of a table: `dimensions` as in "PA TS", `severity` and `scope` by name."""
    named = tuple(Dimension(letters) for letters in dimensions.split())
    return RunRule(
        name, category, named, Severity(severity), find, confidence, version, of_absence, title, RuleScope(scope)
    )
