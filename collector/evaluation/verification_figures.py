"""What verification removed: findings by what the verifier said of them, on annotated spans and elsewhere.

A refuted finding on an annotated span may be a true one that was removed; annotators do not mark everything, so one
elsewhere is not always false.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tracejury.judges.measures.finding_precision import PrecisionRow, finding_precision
from tracejury.schemas.findings import Finding, Verification

from .matches import Matches, Sides
from .predictions import predicted
from .rebuilt import RebuiltFolder

NOT_ASKED: Final = "not asked"

VerificationFigures = Mapping[str, PrecisionRow]
"""By what the verifier said."""


def verification_figures(
    rebuilt: RebuiltFolder, findings: Iterable[Finding], matches: Matches | None
) -> VerificationFigures:
    """A row for each answer that was given of findings in annotated traces, whatever profile shows them.

    None where nobody was asked. `matches`: of findings with annotated errors, where there is a matcher.
    """
    names = set(rebuilt.folder.annotations) if matches is None else set(rebuilt.folder.annotations) & matches.keys()
    errors = [error for error in rebuilt.errors if error.trace_id in names]
    by_answer: dict[Verification, list[Finding]] = {}
    for finding in findings:
        name = rebuilt.folder.names[finding.trace_id]
        if name in names and rebuilt.folder.scored(name, finding.agent_run_id):
            by_answer.setdefault(finding.verification, []).append(finding)
    if by_answer.keys() <= {Verification.NONE}:
        return {}
    rows: dict[str, PrecisionRow] = {}
    for answer in (Verification.VERIFIED, Verification.REFUTED, Verification.UNVERIFIED, Verification.NONE):
        said = [predicted(f, rebuilt.folder.names[f.trace_id]) for f in by_answer.get(answer, ())]
        pairs = None if matches is None else list(Sides(errors, said).decisions(matches))
        if said:
            rows[answer.value or NOT_ASKED] = finding_precision(errors, said, pairs)[0]
    return rows


def elsewhere(row: PrecisionRow) -> int:
    """Findings on no annotated span."""
    return row.findings - row.on_span
