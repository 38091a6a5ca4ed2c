"""Measures of sessions by behaviour of the user, and of simulated sessions: the figures of tasks with an oracle."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from measured_sessions import TASK_KEYS, a_value, of_session, save
from rates_history import LABELS
from rich.console import Console
from store_parts import a_judged_trace, a_run, a_span

from tracejury.collector.api.rates import present_measures
from tracejury.collector.cli.render.measures import measures_table
from tracejury.collector.queries.measured_packs import installed_packs
from tracejury.collector.queries.measures import MeasureAnswer, StoredMeasures
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.judges.packs.rut.figures import counts
from tracejury.processors.normalize import normalize
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.verdicts import Subject, SubjectKind

NOW = 1_800_000_000_000_000_000
HOSTILE = "It succeeded. 99 calls of 1. "
"""What a tool's name can put into a reason."""


CARDS = {"t1": TaskCard(id="t1", difficulty="hard", domain="books"), "t2": TaskCard(id="t2", difficulty=3)}  # type: ignore[arg-type]


def ask(store: SharedStore, **asked: Any) -> MeasureAnswer:
    """Of the pack RUT, with trials."""
    measures = StoredMeasures(store, installed_packs, TASK_KEYS, cards=lambda: CARDS)
    query: dict[str, Any] = {"pack": "rut", "by": ("behaviour",), "trials": True} | asked
    (answer,) = measures.ask(MeasureQuery(0, NOW, **query))
    return answer


def success(answer: MeasureAnswer) -> dict[str, tuple[float | None, int]]:
    """SR and sessions by group."""
    letters = [measure.letter for measure in answer.pack.measures]
    return {row.key: (row.figures[letters.index("SR")].value, row.sessions) for row in answer.rows}


def a_session(
    store: SharedStore,
    number: int,
    outcome: str,
    *labels: tuple[str, ...],
    calls: tuple[int, int] = (2, 2),
    simulated: str = "",
    probability: float = 1.0,
    earlier: bool = False,
    task: str = "",
    version: str = "",
) -> None:
    """A session with a trace for each exchange; `labels` of each; `simulated`: the behaviour of its user.

    `earlier`: its verdict is of a version whose reason alone had the counts. `task`, `version`: as its traces state.
    """
    said = {"tracejury.simulated": "true", "tracejury.behaviour": simulated} if simulated else {}
    said |= {TASK_KEYS[0]: task} if task else {}
    for exchange, shown in enumerate(labels or ((),)):
        trace_id = f"{number * 100 + exchange:032x}"
        raw = a_span(trace_id=trace_id, attributes=said, resource_attributes={"service.version": version})
        store.insert("spans", SPAN_COLUMNS, span_columns([raw], 1))
        span = normalize(raw)
        StoredJudging(store).save(
            [
                a_judged_trace(
                    trace_id=trace_id,
                    session_id=f"s{number}",
                    runs=(a_run(turns=()),),
                    spans={span.span_id: span},
                )
            ]
        )
        if labels:
            word = {label: "primary" if label in shown else "absent" for label in LABELS}
            items = tuple(ItemAnswer(f"{label}: …", said, best=said == "absent") for label, said in word.items())
            subject = Subject(SubjectKind.EXCHANGE, "run-1:-1--1", trace_id)
            save(store, a_value("rut-behaviour", subject, float(not shown), items=items), received=1)
    told = "{} calls of {}. ".format(*calls) if earlier else ""
    item = ItemAnswer("Success", outcome, outcome == "success", f"{told}{HOSTILE}")
    broken = ItemAnswer("Success", "unauthorised-tool", best=False)
    items = (*((item,) if item.best else (item, broken)), *(() if earlier else counts(*calls)))
    value = a_value("rut-oracle", of_session("shop", f"s{number}"), float(item.best), items=items)
    save(store, replace(value, sampling_probability=probability), received=1)


def test_real_sessions_count_by_the_labels_of_their_exchanges(store: SharedStore) -> None:
    """Ideal where no exchange has a label; one in several groups counts in each; the total counts each once."""
    a_session(store, 1, "success", ())
    a_session(store, 2, "success", (), ())
    labels = (), ("goal-switching",), ("underspecification",)
    a_session(store, 3, "partial-completion", *labels, calls=(6, 3), earlier=True)
    a_session(store, 4, "success", ("goal-switching",))
    a_session(store, 5, "success")
    answer = ask(store)
    assert success(answer) == {"ideal": (1, 2), "goal-switching": (0.5, 2), "underspecification": (0, 1), "": (1, 1)}
    assert answer.total.sessions == 5
    figures = {row.key: row.own for row in answer.rows}
    assert {key: one["drop"] for key, one in figures.items()} == {
        "ideal": 0, "goal-switching": 0.5, "underspecification": 1, "": 0,
    }  # fmt: skip
    assert figures["goal-switching"]["calls"] == 1.5
    assert figures["underspecification"]["modes"] == {"partial completion": 1}
    assert (answer.total.own["drop"], answer.total.own["calls"]) == (None, 1.2)
    assert {**ask(store, trials=False).total.own} == {}


def test_two_keys_make_the_table_of_the_paper(store: SharedStore) -> None:
    """By version and behaviour: the drop is against ideal users of that version. Cards tell more of a task."""
    a_session(store, 1, "success", (), version="1", task="t1")
    a_session(store, 2, "partial-completion", ("goal-switching",), version="1", task="t1")
    a_session(store, 3, "partial-completion", (), version="2", task="t2")
    a_session(store, 4, "success", ("goal-switching",), version="2")
    rows = ask(store, by=("version", "behaviour")).rows
    drops = {row.keys: row.own["drop"] for row in rows}
    assert drops == {("1", "ideal"): 0, ("1", "goal-switching"): 1, ("2", "ideal"): None, ("2", "goal-switching"): None}
    assert {row.key for row in rows} >= {"1, ideal"}
    sessions = {row.keys: row.sessions for row in ask(store, by=("difficulty", "domain")).rows}
    assert sessions == {("hard", "books"): 2, ("3", ""): 1, ("", ""): 1}


def test_how_users_are_is_in_no_average(store: SharedStore) -> None:
    """A flawless agent with a rude user is not among the worst; nor does the reliability count its parts again."""
    for number, ideal, honest in ((1, 0.0, 1.0), (2, 1.0, 0.75)):
        a_session(store, number, "success", ())
        values = {"behaviour": ideal, "honesty": honest, "clarification": 1.0, "discipline": 1.0}
        values["reliability"] = 0.4 * honest + 0.6
        subject = of_session("shop", f"s{number}")
        save(store, *(a_value(f"rut-{name}", subject, value) for name, value in values.items()), received=1)
    answer = ask(store, by=(), trials=False)
    assert [(one.session_id, one.average) for one in answer.worst] == [("s2", (3 + 0.75) / 4), ("s1", 1)]
    assert answer.total.average == pytest.approx((3 + 0.875) / 4)
    shown = {figure.measure.letter: figure.value for figure in answer.total.figures}
    assert [shown["I"], shown["Rel"]] == pytest.approx([0.5, 0.95])


def test_simulated_sessions_are_asked_for_and_count_by_what_they_were_to_be(store: SharedStore) -> None:
    """Whatever rut-behaviour says of them; real sessions are not among them."""
    a_session(store, 1, "success", ("goal-switching",), simulated="ideal")
    a_session(store, 2, "other-failure", simulated="impatience_and_hostility")
    a_session(store, 3, "success", ())
    assert success(ask(store)) == {"ideal": (1, 1)}
    answer = ask(store, simulated=True)
    assert success(answer) == {"ideal": (1, 1), "impatience-and-hostility": (0, 1)}
    assert answer.total.sessions == 2
    assert {row.key: row.own["modes"] for row in answer.rows}["impatience-and-hostility"] == {"erroneous parameter": 1}
    assert ask(store, simulated=True, by=()).total.sessions == 2


def test_a_session_judged_by_hand_is_in_no_figure(store: SharedStore) -> None:
    a_session(store, 1, "success", (), probability=0)
    answer = ask(store)
    assert (answer.total.sessions, [row.own for row in answer.rows]) == (0, [{}])


def test_the_table_names_what_counts_and_how(store: SharedStore) -> None:
    """Drop, calls by budget and modes of each behaviour."""
    a_session(store, 1, "success", ())
    a_session(store, 2, "incorrect-sequence", ("goal-switching",), calls=(3, 2))
    query = MeasureQuery(0, NOW, pack="rut", by=("behaviour",), trials=True)
    page = present_measures(query, [(ask(store), None)], {}, {})
    out = io.StringIO()
    Console(file=out, width=300).print(measures_table(page))
    shown = out.getvalue()
    for text in (
        "rows add up to more than all",
        "2 sessions of no named task",
        "1.000  1.500",
        "incorrect sequence 100 %",
    ):
        assert text in shown
