"""Rates by behaviour of the user, and of simulated sessions, on the real store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from rates_history import LABELS
from store_parts import a_finding, a_judged_trace, a_run, a_span

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.gauges.rates import rate_figures
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.normalize import normalize
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.labels import Purpose, QueueQuery
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.rates import By, Population, RateAnswer, RateQuery, Unit
from tracejury.schemas.trajectory import Exchange, TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

T0 = 497_232 * HOUR
EVER = RateQuery(0, 2**63 - 1, population=Population.DETECTORS)
TRACES = tuple(f"{n:032x}" for n in (1, 2, 3, 4))


def rates_of(store: SharedStore) -> StoredRates:
    """As of a process that has just started."""
    return StoredRates(store, rules=("loops",))


def rows(answer: RateAnswer) -> dict[str, tuple[int, int]]:
    """Judged units and those with an error by group."""
    return {row.key: (row.rate.judged, row.rate.hits) for row in answer.rows}


def save(
    store: SharedStore, trace_id: str, *, found: bool = False, said: dict[str, str] | None = None, **trace: Any
) -> None:
    """Detectors judge a trace; `said`: attributes of a span."""
    span = normalize(a_span(trace_id=trace_id, attributes=said or {}))
    fields: dict[str, Any] = {"runs": (a_run(),), "spans": {span.span_id: span}} | trace
    findings = [a_finding(trace_id=trace_id)] if found else []
    StoredJudging(store).save([a_judged_trace(*findings, trace_id=trace_id, judged_at=T0, received=T0, **fields)])


def label(store: SharedStore, trace_id: str, *labels: str, exchange: str = "run-1:0-2", at: int = T0) -> None:
    """The user of an exchange behaves so, the first label being the primary one."""
    subject = Subject(SubjectKind.EXCHANGE, exchange, trace_id)
    items = tuple(
        ItemAnswer(f"{one}: what it means", "absent", best=True)
        if one not in labels
        else ItemAnswer(f"{one}: what it means", "primary" if one == labels[0] else "second", best=False)
        for one in LABELS
    )
    verdict = Verdict("rut-behaviour", "v1", subject, None, value=float(not labels), items=items)
    word = Judgement(subject, "rut-behaviour", "v1", "input", at, at, Outcome.DONE, verdicts=(verdict,))
    StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, (word,))])


def simulate(store: SharedStore, trace_id: str, value: str = "true", behaviour: str = "goal-switching") -> None:
    """A simulated session with an error."""
    save(store, trace_id, found=True, said={"tracejury.simulated": value, "tracejury.behaviour": behaviour})


def test_a_run_counts_in_each_of_its_labels(store: SharedStore) -> None:
    """Ideal without one, under no name where nobody looked; the total is that of the runs."""
    save(store, TRACES[0], found=True)
    for trace_id in TRACES[1:]:
        save(store, trace_id)
    rates = rates_of(store)
    assert rows(rates.ask(replace(EVER, by=By.BEHAVIOUR))) == {"": (4, 1)}
    label(store, TRACES[0], "goal-switching", "underspecification")
    label(store, TRACES[1], "underspecification")
    label(store, TRACES[2])
    expected = {"goal-switching": (1, 1), "underspecification": (2, 1), "ideal": (1, 0), "": (1, 0)}
    answer = rates.ask(replace(EVER, by=By.BEHAVIOUR))
    assert rows(answer) == expected
    assert (answer.total.judged, answer.total.hits) == (4, 1)
    assert rows(rates.ask(replace(EVER, by=By.BEHAVIOUR, unit=Unit.TRACE))) == expected
    assert rows(rates.ask(replace(EVER, by=By.JUDGE, behaviour="underspecification"))) == {"loops": (2, 1)}
    assert rates.ask(replace(EVER, behaviour="ideal")).total.judged == 1
    assert rates.ask(EVER).total.judged == 4


def test_labels_that_come_late_change_nothing_else(store: SharedStore) -> None:
    save(store, TRACES[0], found=True)
    rates = rates_of(store)
    before, by_behaviour = rates.ask(EVER), replace(EVER, by=By.BEHAVIOUR)
    label(store, TRACES[0], "goal-switching", at=T0 + HOUR // 2)
    assert rows(rates.ask(by_behaviour)) == {"goal-switching": (1, 1)}
    assert rates.ask(EVER) == before
    narrowed = ({"behaviour": "goal-switching"}, {"behaviour": "ideal"}, {"simulated": True})
    assert [rates.ask(replace(EVER, **one)).total.judged for one in narrowed] == [1, 0, 0]
    label(store, TRACES[0], at=T0 + HOUR // 2 + 1)  # judged again
    assert rows(rates.ask(by_behaviour)) == {"ideal": (1, 1)}


def test_sub_agents_count_in_the_exchange_that_they_began_in(store: SharedStore) -> None:
    """Of a run with two exchanges each sub-agent has the labels of its own; the manager has both."""
    runs = (
        a_run(name="manager"),
        a_run(id="run-2", name="first", parent_id="run-1", parent_turn=0),
        a_run(id="run-3", name="second", parent_id="run-1", parent_turn=1),
    )
    exchanges = tuple(Exchange("run-1", turn, turn, "please", "done") for turn in range(2))
    save(store, TRACES[0], runs=runs, exchanges=exchanges)
    label(store, TRACES[0], "underspecification", exchange="run-1:0-0")
    label(store, TRACES[0], exchange="run-1:1-1")
    found = {
        agent: rows(rates_of(store).ask(replace(EVER, by=By.BEHAVIOUR, agent=agent))) for agent in ("first", "second")
    }
    assert found == {"first": {"underspecification": (1, 0)}, "second": {"ideal": (1, 0)}}
    manager = rates_of(store).ask(replace(EVER, by=By.BEHAVIOUR, agent="manager"))
    assert (rows(manager), manager.total.judged) == ({"underspecification": (1, 0), "ideal": (1, 0)}, 1)


@pytest.mark.parametrize("value", ["true", "True", " true "])
def test_simulated_sessions_are_in_no_production_figure_unless_asked_for(store: SharedStore, value: str) -> None:
    """Neither in rates, rates of tools, gauges, worst errors nor the label queue."""
    save(store, TRACES[0])
    simulate(store, TRACES[1], value)
    rates = rates_of(store)
    assert (rates.ask(EVER).total.judged, rates.ask(EVER).total.hits) == (1, 0)
    assert rates.ask(EVER).unjudged.counts == {}
    asked = rates.ask(replace(EVER, by=By.BEHAVIOUR, simulated=True))
    assert (rows(asked), asked.total.judged) == ({"goal-switching": (1, 1)}, 1)
    assert rate_figures(rates, T0 + 1).judged["", "1h"] == 1
    everyone = ErrorQuery(Confidence.of(""), 10)
    finds: Callable[..., int] = lambda **of: len(StoredErrors(store).find(replace(everyone, **of)))  # noqa: E731
    assert (finds(), finds(simulated=False), finds(simulated=True)) == (1, 0, 1)
    queue = QueueQuery(Purpose.CALIBRATION, 0, 2**62, 10)
    of_queue = [
        [item.trace_id for item in StoredLabels(store).queue(replace(queue, simulated=s))] for s in (False, True)
    ]
    assert of_queue == [[TRACES[0]], [TRACES[1]]]


@pytest.mark.parametrize("value", ["false", "1", "", "yes"])
def test_nothing_but_true_makes_a_session_simulated(store: SharedStore, value: str) -> None:
    """What a span says otherwise changes nothing."""
    simulate(store, TRACES[0], value)
    assert rates_of(store).ask(EVER).total.judged == 1


def test_a_trace_that_turns_out_to_be_simulated_leaves_the_rates(store: SharedStore) -> None:
    """Its root came late; whatever it says of a behaviour that there is not, is none."""
    save(store, TRACES[0], found=True)
    rates = rates_of(store)
    assert rates.ask(EVER).total.judged == 1
    late = normalize(a_span(attributes={"tracejury.simulated": "true", "tracejury.behaviour": "<b>"}))
    again = a_judged_trace(trace_id=TRACES[0], judged_at=T0 + 1, received=T0 + 1, spans={"late": late})
    StoredJudging(store).save([again])
    assert rates.ask(EVER).total.judged == 0
    assert rows(rates.ask(replace(EVER, by=By.BEHAVIOUR, simulated=True))) == {"": (1, 1)}
