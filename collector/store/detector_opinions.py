"""What LLM judges say of detectors' findings, written to the rows of these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tracejury.judges.causes import led_by
from tracejury.judges.service_records import RuleOpinion
from tracejury.judges.verification import decided, verified
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import LIVE, Verification
from tracejury.schemas.judged_rows import FINDING_COLUMNS, FINDING_SELECT, finding_from_row, reviewed_row
from tracejury.schemas.verdicts import DETECTORS

from .client import Store
from .given_opinions import FindingKey, ReviewedFinding, key_of
from .inserting import insert_rows
from .lists.findings import HOLDS
from .scope import TENANT, Scope
from .shared_store import SharedStore

_STANDING: Final = f"""
SELECT {FINDING_SELECT}, JudgeVersion, JudgedAt, toUnixTimestamp64Nano(ReceivedAt) FROM findings FINAL
WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND Id IN {{ids:Array(String)}} AND JudgedBy = '{DETECTORS}'
"""


_GIVEN: Final = f"""
SELECT {FINDING_SELECT}, JudgeVersion, JudgedAt, toUnixTimestamp64Nano(ReceivedAt) FROM findings
WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND {{decided}} ORDER BY JudgedAt
"""

_DECIDED: Final = f"JudgedBy = '{DETECTORS}' AND Verification IN ('{Verification.VERIFIED}', '{Verification.REFUTED}')"
_STATE: Final = f"SELECT count(), max(JudgedAt) FROM findings WHERE {_DECIDED}"

# Of all tenants: calibrating is the collector's own affair. An error that was not folded yet has the id that it would
# have if the finding led it.
_BY_ERROR: Final = f"""
SELECT DISTINCT found.tenant, traces.ServiceName, found.Judge, if(known.ErrorId = '', found.ErrorId, known.ErrorId),
    found.VerifiedBy, found.Verification = '{Verification.VERIFIED}'
FROM
(
    SELECT tenant, TraceId, Id, Judge, ErrorId, VerifiedBy, Verification FROM findings FINAL
    WHERE {_DECIDED} AND {HOLDS}
) AS found
INNER JOIN (SELECT tenant, TraceId, ServiceName FROM traces FINAL) AS traces
    ON traces.tenant = found.tenant AND traces.TraceId = found.TraceId
LEFT JOIN
(
    SELECT tenant, Id AS ErrorId, arrayJoin(FindingIds) AS FindingId FROM errors FINAL
    WHERE (tenant, TraceId) IN (SELECT tenant, TraceId FROM findings WHERE {_DECIDED})
        OR (tenant, Whole) IN (SELECT tenant, TraceId FROM findings WHERE {_DECIDED})
) AS known ON known.tenant = found.tenant AND known.FindingId = found.Id
ORDER BY ALL
"""


def opinions_state(store: Store) -> Sequence[Any]:
    """Changes when an opinion is written. Raises RetryableError, StoreError."""
    return store.rows(_STATE)[0]


def rule_opinions(store: Store) -> Iterator[tuple[tuple[str, str], RuleOpinion]]:
    """The opinions on the detectors' findings that hold, one a rule, error and model, each with tenant and service.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    for tenant, service, rule, error_id, by, right in store.rows(_BY_ERROR):
        yield (tenant, service), RuleOpinion(rule, error_id, bool(right), judged=True, by=by)


def read_opinions(store: SharedStore, keys: Iterable[TraceKey]) -> set[FindingKey]:
    """Have `store.opinions` know what LLM judges of other processes said of the detectors' findings of these traces.

    Also where a row without it was written after it. Returns the findings that have one. With an embedded store
    nothing is read. Raises RetryableError, StoreError.
    """
    by_tenant: defaultdict[str, set[str]] = defaultdict(set)
    for tenant, trace_id in keys if not store.embedded else ():
        by_tenant[tenant].add(trace_id)
    sql, found = _GIVEN.replace("{decided}", _DECIDED), list[ReviewedFinding]()
    for tenant, ids in by_tenant.items():
        for *row, version, judged_at, received in Scope(store, tenant).select(sql, trace_ids=sorted(ids)):
            found.append(ReviewedFinding(finding_from_row(row), version, judged_at, received))
    store.opinions.remember(found)
    return {key_of(one.finding) for one in found}


def write_opinions(store: SharedStore, opinions: Iterable[DetectorOpinion], now: int) -> None:
    """Put opinions on the findings that stand and that nobody has confirmed or refuted; all others stay as they are.

    Nothing is written of a finding that the detectors have retracted meanwhile, or whose trace is deleted. The caller
    is within `Deletions.writing`. Raises the driver's errors: see `storing`.
    """
    by_tenant: defaultdict[str, dict[FindingKey, DetectorOpinion]] = defaultdict(dict)
    for one in opinions:
        by_tenant[one.tenant][one.tenant, one.trace_id, one.finding_id] = one
    if not by_tenant:
        return
    with store.opinions.writing:
        said = [one for tenant, given in by_tenant.items() for one in _reviewed(store, tenant, given, now)]
        rows = (reviewed_row(s.finding, s.version, s.judged_at, s.received, led_by(s.finding)) for s in said)
        store.opinions.remember(said)
        insert_rows(store, "findings", FINDING_COLUMNS, rows)


def _reviewed(
    store: SharedStore, tenant: str, opinions: Mapping[FindingKey, DetectorOpinion], now: int
) -> Iterator[ReviewedFinding]:
    """The findings as the opinions leave them."""
    ids = {"trace_ids": sorted({key[1] for key in opinions}), "ids": sorted({key[2] for key in opinions})}
    for *row, version, judged_at, received in Scope(store, tenant).select(_STANDING, **ids):
        finding = finding_from_row(row)
        opinion = opinions.get(key_of(finding))
        stays = store.deletions.stays((tenant, finding.trace_id), received)
        if opinion is None or not stays or finding.state not in LIVE or decided(finding):
            continue
        said = verified(finding, opinion.verification, opinion.by, opinion.reason)
        yield ReviewedFinding(said, version, max(now, judged_at + 1), received)
