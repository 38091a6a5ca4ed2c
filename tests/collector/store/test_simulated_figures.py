"""Figures beside rates are of real sessions or of simulated ones: how soon, what came of it, spend, what waits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from listed_traces import SECOND, Listed, Mark, store_all
from measured_sessions import PACK, STATES, TASK_KEYS, a_value, of_exchange, save
from store_parts import a_judged_subject, a_span

from tracejury.collector.queries.measures import StoredMeasures
from tracejury.collector.store.answers import StoredAnswers
from tracejury.collector.store.lists import TraceLists
from tracejury.collector.store.lists.pending import list_pending
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.pipeline_stats import StoredPipelineStats
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.llm_rows import AnswerRow
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.verdicts import Outcome, Subject, SubjectKind, session_subject_id

NOW = 1_800_000_000 * SECOND
REAL = Listed(1, session="r", received=NOW, marks=(Mark(),))
SIMULATED = Listed(2, session="s", received=NOW, marks=(Mark(),), simulated=True)
OWN = replace(SIMULATED, number=3, simulated=False, marks=())
"""Of the simulated session, of an agent that does not continue its traces."""
ANSWER = AnswerRow("", "m", "", "stop", 1, 0, 0, 0.0, NOW, "shop", "", "", "panel", "")


@pytest.mark.parametrize(("simulated", "usd"), [(False, 1.0 + 4 + 16), (True, 2.0 + 8), (None, 31.0)])
def test_each_figure_is_of_one_kind(store: SharedStore, simulated: bool | None, usd: float) -> None:  # noqa: FBT001
    """Or of both, where nobody says."""
    store_all(store, [REAL, SIMULATED, OWN])
    for trace, outcome in ((REAL, Outcome.DONE), (SIMULATED, Outcome.FAILED)):
        subject = Subject(SubjectKind.AGENT_RUN, "p", trace.trace_id)
        StoredLlmJudging(store).save([a_judged_subject(received=NOW, outcome=outcome, subject=subject)])
        (finding,) = trace.judged.judgement.findings
        span = a_span(trace_id=trace.trace_id, span_id=finding.span_id)
        store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW))
    about = [(REAL.trace_id, "p"), (SIMULATED.trace_id, "p"), *(("", session_subject_id("shop", s)) for s in "rs")]
    rows = [replace(ANSWER, trace_id=at, run_id=run, cost=2.0**n) for n, (at, run) in enumerate([*about, ("", "")])]
    StoredAnswers(store).keep(rows)
    stats = StoredPipelineStats(store)
    kinds = {False: [Outcome.DONE], True: [Outcome.FAILED], None: [Outcome.DONE, Outcome.FAILED]}[simulated]
    outcomes = stats.outcomes(0, NOW + 1, simulated=simulated)
    assert sorted(outcome for said in outcomes.values() for outcome in said) == sorted(kinds)
    assert stats.timeliness(0, NOW + 1, simulated=simulated).findings == len(kinds)
    assert sum(spend.usd for spend in StoredAnswers(store).spend(0, simulated=simulated)) == usd


@pytest.mark.parametrize("simulated", [False, True])
def test_what_waits_is_of_one_kind(store: SharedStore, simulated: bool) -> None:  # noqa: FBT001
    """Traces that were never judged, by their spans; sessions to be measured, if any of their traces is simulated."""
    said = [{"tracejury.simulated": value} for value in ("true", " True ", "false")]
    for number, attributes in enumerate([*said, {}, {}]):
        span = a_span(trace_id=f"{number:032x}", attributes=attributes)
        store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW))
    list_pending(store)
    waiting = TraceLists(store).count_by_judging(0, NOW + 1, "", simulated=simulated)
    assert waiting == {NotJudged.WAITING: 2 if simulated else 3}
    store_all(store, [REAL, SIMULATED, OWN])
    save(store, *(a_value(STATES, of_exchange(trace), 1) for trace in (REAL, SIMULATED, OWN)), received=NOW)
    (answer,) = StoredMeasures(store, lambda: [PACK], TASK_KEYS).ask(MeasureQuery(0, NOW + 1, simulated=simulated))
    assert answer.waiting == 1
