"""A session out of the store: its conversation, with errors, findings and verdicts at the exchange that they are of."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.lists import SessionLists
from tracejury.collector.store.lists.conversation import pinned, together
from tracejury.collector.store.reading import StoredReading, places
from tracejury.collector.store.scope import Scope
from tracejury.schemas.findings import LIVE, Finding
from tracejury.schemas.queries.conversation import SessionView
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.verdicts import Verdict, session_subject_id


def stored_session(scope: Scope, session_id: str, confidence: Confidence, service: str = "") -> SessionView | None:
    """The session of one service, or ("") of all that name the id; None where there is none.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    lists, reading = SessionLists(scope.store, scope.tenant), StoredReading(scope.store, scope.tenant)
    rows = lists.rows_of(session_id, service, confidence)
    if not rows:
        return None
    # Rows tell the beginning of a long id.
    whole, said = replace(together(rows), session_id=session_id), lists.exchanges(session_id, service)
    own = {one.trace_id: one.trace_id for one in said}
    parts = own | lists.parts(list(own))
    least = {one.trace_id: confidence.least(one.recognised) for one in said}
    findings: defaultdict[str, list[Finding]] = defaultdict(list)
    for part, found in reading.load_findings(list(parts)).items():
        home = parts[part]
        findings[home] += [f for f in found if f.state in LIVE]
    verdicts: defaultdict[str, list[Verdict]] = defaultdict(list)
    for part, words in reading.load_verdicts(list(parts)).items():
        verdicts[parts[part]] += words
    names, errors = places(scope, parts), StoredErrors(scope.store, scope.tenant).under(list(own))
    exchanges = [
        exchange
        for i, one in ((one.trace_id, one) for one in said)
        for exchange in pinned(one, findings[i], errors.get(i, ()), least[i], verdicts[i], names)
    ]
    services = [r.service for r in rows]
    measures = reading.load_session_verdicts([session_subject_id(one, session_id) for one in services])
    return SessionView(whole, services, exchanges, max(0, whole.traces - len(said)), measures)
