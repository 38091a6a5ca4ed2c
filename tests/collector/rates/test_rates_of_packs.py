"""Rates of packs: none but those that ask for one change when a pack is switched on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from store_parts import a_finding, a_judged_trace, a_run

from tracejury.collector.rates import StoredRates
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.rates import By, Population, RateQuery
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

T0 = 497_232 * HOUR
EVER = RateQuery(0, 2**63 - 1)
TRACES = tuple(f"{n:032x}" for n in (1, 2, 3))


def told(store: SharedStore, **asked: Any) -> tuple[Population, int, int, tuple[tuple[str, int], ...]]:
    """Population, judged runs, those with an error, and each row's name and errors."""
    rates = StoredRates(store, rules=("loops",))
    answer = rates.ask(replace(EVER, **asked))
    rows = tuple((row.key, row.rate.errors) for row in answer.rows)
    return answer.population, answer.total.judged, answer.total.hits, rows


def judged(trace_id: str, judge: str, value: float | None, *, error: bool = False) -> JudgedSubject:
    """A check's word on the one exchange of a trace."""
    subject = Subject(SubjectKind.EXCHANGE, "run-1:0-2", trace_id)
    found = a_finding(trace_id=trace_id, judge=judge, taxonomy="pipa", category="inconsistent state", dimensions=())
    findings = (found,) if error else ()
    outcome = Outcome.DONE if value is not None else Outcome.FAILED
    verdict = Verdict(judge, "v1", subject, None, value=value)
    judgement = Judgement(subject, judge, "v1", "input", T0, T0, outcome, findings=findings, verdicts=(verdict,))
    return JudgedSubject(TraceState.SETTLED, (judgement,), findings)


@pytest.fixture
def detected(store: SharedStore) -> SharedStore:
    """Three traces with one run each; detectors found something in the first."""
    traces = [
        a_judged_trace(
            *([a_finding(trace_id=i)] if i == TRACES[0] else []), trace_id=i, judged_at=T0, received=T0, runs=(a_run(),)
        )
        for i in TRACES
    ]
    StoredJudging(store).save(traces)
    return store


def test_a_pack_counts_only_where_it_is_asked_for(detected: SharedStore) -> None:
    """Over the runs that it judged, which are two of three."""
    asked: list[dict[str, Any]] = [{}, {"by": By.TAXONOMY}, {"by": By.CATEGORY}, {"by": By.AGENT}, {"judge": "loops"}]
    before = [told(detected, **one) for one in asked]
    assert before[0] == (Population.DETECTORS, 3, 1, (("", 1),))
    StoredLlmJudging(detected).save(
        [
            judged(TRACES[1], "pipa-state", 0.5, error=True),
            judged(TRACES[2], "pipa-state", 1.0),
            judged(TRACES[2], "pipa-tools", None),
        ]
    )
    assert [told(detected, **one) for one in asked] == before
    assert told(detected, judge="pipa-state") == (Population.JUDGES, 2, 1, (("", 1),))
    assert told(detected, taxonomy="pipa") == (Population.JUDGES, 1, 1, (("", 1),))  # a check failed in the third
    assert told(detected, taxonomy="pipa", by=By.CATEGORY)[3] == (("pipa/inconsistent state", 1),)
    assert told(detected, category="pipa/inconsistent state")[1:3] == (1, 1)
    assert told(detected, taxonomy="pipa", population=Population.DETECTORS)[1:3] == (0, 0)


def test_a_word_on_a_session_judges_no_run(detected: SharedStore) -> None:
    """Neither one of a session nor of a trace that is a session of its own."""
    subjects = [Subject(SubjectKind.SESSION, '["shop", "s"]', ""), Subject(SubjectKind.SESSION, TRACES[0], TRACES[0])]
    for subject in subjects:
        verdict = Verdict("pipa-state", "v1", subject, 3, value=0.5)
        word = Judgement(subject, "pipa-state", "v1", "input", T0, T0, Outcome.DONE, verdicts=(verdict,))
        StoredLlmJudging(detected).save([JudgedSubject(TraceState.SETTLED, (word,))])
    assert told(detected, judge="pipa-state")[1] == told(detected, taxonomy="pipa")[1] == 0
    assert told(detected, population=Population.JUDGES)[1] == 0
