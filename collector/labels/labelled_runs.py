"""Agent runs that people have labelled, with what holds of them and who looked at them. All of it blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tracejury.collector.queries.reader import Labels
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.lists.findings import JOINED, whole
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.judges.measures.people import said_of_run
from tracejury.judges.measures.quality import LabelledRun
from tracejury.schemas.findings import LIVE
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold
from tracejury.schemas.queries.labels import Stratum
from tracejury.schemas.verdicts import SubjectKind

from .runs import RUNS, bounds

_PAGE: Final = 500

_LABELLED: Final = f"""
SELECT TraceId, groupArray(RunId) FROM {RUNS}
WHERE {whole(f"SELECT TraceId FROM annotations WHERE {TENANT}")}
    OR TraceId IN (SELECT TraceId FROM reviews WHERE {TENANT})
GROUP BY TraceId ORDER BY TraceId
"""

_PARTS: Final = f"SELECT Part, Whole FROM ({JOINED}) WHERE Whole IN {{ids:Array(String)}} ORDER BY Part"


def labelled_runs(
    scope: Scope,
    labels: Labels,
    strata: Callable[[], Sequence[Stratum]],
    since: int,
    until: int,
    service: str = "",
) -> Iterator[LabelledRun]:
    """The runs of traces that arrived in [since, until) and that have labels, with findings of the balanced profile.

    `strata`: those of that time and service; asked only where there are labels, since it looks at all runs.
    """
    rows = scope.select(_LABELLED, **bounds(since, until, service))
    weights = {run: one.size / one.reviewed for one in (strata() if rows else ()) for run in one.drawn}
    for first in range(0, len(rows), _PAGE):
        runs = [(trace_id, run_id) for trace_id, ids in rows[first : first + _PAGE] for run_id in ids]
        yield from _loaded(scope, labels, runs, weights)


def _loaded(
    scope: Scope,
    labels: Labels,
    runs: Sequence[tuple[str, str]],
    weights: Mapping[tuple[str, str], float],
) -> Iterator[LabelledRun]:
    ids = sorted({trace_id for trace_id, _ in runs})
    parts = dict[str, list[str]]()
    for part, shown in scope.select(_PARTS, ids=ids):
        parts.setdefault(shown, []).append(part)
    everything = [*ids, *(part for found in parts.values() for part in found)]
    reading, least = StoredReading(scope.store, scope.tenant), threshold(DEFAULT_PROFILE)
    findings, verdicts = reading.load_findings(everything), reading.load_verdicts(ids)
    labelled = labels.of_traces(everything)
    errors = StoredErrors(scope.store, scope.tenant).under(ids)
    for trace_id, run_id in runs:
        traces = (trace_id, *parts.get(trace_id, ()))
        said = [labelled[i] for i in traces if i in labelled]
        held = tuple(
            f
            for i in traces
            for f in findings.get(i, ())
            if f.agent_run_id == run_id and f.state in LIVE and f.confidence >= least
        )
        spoken = [
            v for v in verdicts.get(trace_id, ()) if v.subject.kind is SubjectKind.AGENT_RUN and v.subject.id == run_id
        ]
        yield LabelledRun(
            findings=held,
            annotations=said_of_run(run_id, [a for s in said for a in s.annotations], held),
            reviewed=any(r.agent_run_id == run_id for s in said for r in s.reviews),
            judges=frozenset(v.judge for v in spoken if v.score is not None),
            weight=weights.get((trace_id, run_id), 0.0),
            silent=frozenset(v.judge for v in spoken if v.score is None),
            errors=errors.get(trace_id, ()),
        )
