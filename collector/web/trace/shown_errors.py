"""Errors as the page of their trace shows them: by place, with the severity of the profile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from tracejury.collector.queries.trace.trace_index import TraceIndex
from tracejury.schemas.agent_errors import AgentError, ErrorRole
from tracejury.schemas.decisive import why_and_instead
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import Severity


@dataclass(frozen=True, slots=True)
class ShownError:
    """An error with its severity in the profile."""

    error: AgentError
    severity: Severity

    @property
    def query(self) -> str:
        """Parameters that select its primary span."""
        return urlencode({"span": self.error.lead.span_id})

    @property
    def decided(self) -> tuple[str, str]:
        """Why it decided the outcome, and what should have been done."""
        return why_and_instead(self.error.decided)

    @property
    def others(self) -> Sequence[Finding]:
        """Its findings but for the lead."""
        return self.error.findings[1:]

    @property
    def finding_ids(self) -> str:
        """Ids of its findings, the lead's first, with spaces between."""
        return " ".join(finding.id for finding in self.error.findings)

    @property
    def spans(self) -> Mapping[ErrorRole, Sequence[str]]:
        """The spans that it names by their roles."""
        found: defaultdict[ErrorRole, list[str]] = defaultdict(list)
        for span_id, role in self.error.spans.items():
            found[role].append(span_id)
        return found

    def made_at(self, span_id: str) -> Sequence[Finding]:
        """Its findings at a span."""
        return [finding for finding in self.error.findings if finding.span_id == span_id]


@dataclass(frozen=True, slots=True)
class AtSpan:
    """The errors of a span: those `decided` there, and others with the role that it has in them."""

    decided: Sequence[ShownError] = ()
    others: Sequence[tuple[ShownError, ErrorRole]] = ()
    findings: Sequence[Finding] = ()

    def __bool__(self) -> bool:
        return bool(self.decided or self.others)


NO_ERRORS: Final = AtSpan()


@dataclass(slots=True)
class _Collected:
    decided: list[ShownError] = field(default_factory=list)
    others: list[tuple[ShownError, ErrorRole]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def by_span(errors: Iterable[ShownError]) -> Mapping[str, AtSpan]:
    """The errors by each span that they name."""
    found: defaultdict[str, _Collected] = defaultdict(_Collected)
    for shown in errors:
        for span_id, role in shown.error.spans.items():
            if role is ErrorRole.DECIDED:
                found[span_id].decided.append(shown)
            else:
                found[span_id].others.append((shown, role))
        for finding in shown.error.findings:
            found[finding.span_id].findings.append(finding)
    return {span_id: AtSpan(one.decided, one.others, one.findings) for span_id, one in found.items()}


def in_reading_order(errors: Iterable[AgentError], trace_index: TraceIndex, least: float) -> list[ShownError]:
    """The errors by place in the tree, those of one node the worst first; `least`: the confidence of the profile."""
    order = trace_index.order
    last = len(order)

    def place(shown: ShownError) -> tuple[int, int, int, str]:
        lead = shown.error.lead
        key = trace_index.key_of_span(lead.span_id) or ""
        return order.get(key, last), -shown.severity.rank, lead.first_seen, lead.id

    return sorted((ShownError(error, error.severity(least)) for error in errors), key=place)


def worst(errors: Sequence[ShownError], trace_index: TraceIndex) -> ShownError | None:
    """The most severe error with a place in the tree, of several the surest, then the first; None without any."""
    placed = [shown for shown in errors if trace_index.key_of_span(shown.error.lead.span_id)]
    return max(placed, key=lambda shown: (shown.severity.rank, shown.error.confidence()), default=None)
