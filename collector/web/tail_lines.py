"""Lines of the tail: findings as the errors that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.queries.reader import Confidence, LocatedError, LocatedFinding
from tracejury.schemas.taxonomy import Severity


@dataclass(frozen=True, slots=True)
class TailLine:
    """A finding with its error, None where the store did not answer. `told`: ids of the findings that it stands for."""

    located: LocatedFinding
    error: LocatedError | None
    told: tuple[str, ...]

    @property
    def findings(self) -> Sequence[str]:
        """Ids of all findings of the error."""
        return self.error.error.findings if self.error else self.told

    @property
    def title(self) -> str:
        """The title of the error, else of the finding."""
        return self.error.error.title if self.error else self.located.finding.shown_title

    @property
    def severity(self) -> Severity:
        """The severity of the error, else of the finding."""
        return self.error.severity if self.error else self.located.finding.severity

    @property
    def state(self) -> FindingState:
        """The state of the error, else of the finding."""
        return self.error.error.state if self.error else self.located.finding.state

    @property
    def id(self) -> str:
        """Id of the error, else of the finding: `/errors/ID` takes either, also when the error has another one."""
        return self.error.error.id if self.error else self.located.finding.id

    @property
    def place(self) -> tuple[str, str]:
        """Trace and span."""
        finding = self.located.finding
        if self.error is None:
            return finding.trace_id, finding.span_id
        return self.error.whole, self.error.error.span_id

    @property
    def words(self) -> tuple[str, str]:
        """Quote and reason."""
        said = self.error.error if self.error else self.located.finding
        return said.evidence, said.explanation

    @property
    def source(self) -> tuple[str, float]:
        """Judges, and the confidence."""
        finding = self.located.finding
        if self.error is None:
            return finding.judge, finding.confidence
        return ", ".join(self.error.error.judges), self.error.error.confidence


def tail_lines(reader: StoredReader, rows: Sequence[LocatedFinding], confidence: Confidence) -> list[TailLine]:
    """A line for each finding, in order, but for those whose error is stored in a moment, as that of any that holds.

    Where the store does not answer, lines without errors. Raises StoreError.
    """
    try:
        errors = reader.errors_of([row.finding for row in rows], confidence) if rows else ()
    except RetryableError:  # the findings are told once: they are not lost for it
        return [TailLine(row, None, (row.finding.id,)) for row in rows]
    by_finding = {finding_id: one for one in errors for finding_id in one.error.findings}
    return [
        TailLine(row, by_finding[row.finding.id], (row.finding.id,)) for row in rows if row.finding.id in by_finding
    ]


def one_each(lines: Sequence[TailLine]) -> list[TailLine]:
    """A line for each error, at the place of its first one."""
    found: dict[str, TailLine] = {}
    for line in lines:
        key = line.error.error.id if line.error else line.told[0]
        known = found.setdefault(key, line)
        if known is not line:
            found[key] = replace(known, told=(*known.told, *line.told))
    return list(found.values())
