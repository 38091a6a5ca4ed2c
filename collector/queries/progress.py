"""The progress of sessions: of each check whose items settle, what its verdicts on their exchanges tell."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.judges.checks.progress import check_progress
from tracejury.judges.packs.loader import progress_checks
from tracejury.schemas.queries.conversation import CheckProgress, SessionExchange
from tracejury.schemas.verdicts import SubjectKind, Verdict


def progress_of(exchanges: Sequence[SessionExchange], measures: Sequence[Verdict]) -> tuple[CheckProgress, ...]:
    """Of one session, by its exchanges in order and the verdicts on the session itself."""
    closing = {verdict.judge: verdict for verdict in measures}
    said = [{v.judge: v for v in one.verdicts if v.subject.kind is SubjectKind.EXCHANGE} for one in exchanges]
    found = (
        check_progress(check, [one.get(name) for one in said], closing.get(name))
        for name, check in progress_checks().items()
    )
    return tuple(filter(None, found))
