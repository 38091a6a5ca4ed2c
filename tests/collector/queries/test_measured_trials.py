"""Trials of tasks over the real store: cells, tasks, rows, invalid sessions, comparisons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from listed_traces import SECOND, Listed, store_all
from measured_sessions import PACK, POLICY, STATES, TASK_KEYS, a_value, of_session, save
from store_parts import a_span

from tracejury.collector.queries.measures import MeasureAnswer, MeasureGroup, StoredMeasures
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.measures.trials import Kind
from tracejury.schemas.queries.measures import MeasureQuery, PackMeasure
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

NOW = 1_800_000_000 * SECOND
STATE, POLICIES = PACK.measures
OF_STATES = replace(PACK, success=STATE)
VALID = PackMeasure("V", "other-valid", "Valid user", "Whether the user kept to the task.", validates=True)


def stored(store: SharedStore, *others: PackMeasure) -> StoredMeasures:
    packs = [OF_STATES, *(replace(PACK, name="other", measures=others) for _ in others)]
    return StoredMeasures(store, lambda: packs, TASK_KEYS)


def ask(store: SharedStore, *others: PackMeasure, **asked: Any) -> MeasureAnswer:
    query: dict[str, Any] = {"since": 0, "until": NOW, "pack": "demo", "trials": True, "k": 2} | asked
    (answer,) = stored(store, *others).ask(MeasureQuery(**query))
    return answer


def a_trial(
    store: SharedStore,
    number: int,
    value: float | None,
    said: dict[str, str],
    probability: float = 1.0,
    **resource: Any,
) -> None:
    """A session of one trace; `said`: attributes of a span; `resource`: service and version."""
    trace = Listed(number, session=f"s{number}", received=NOW - SECOND, **resource)
    store_all(store, [trace])
    span = a_span(trace_id=trace.trace_id, attributes=said)
    store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW - SECOND))
    whole = of_session(trace.service, trace.session)
    save(store, a_value(STATES, whole, value, sampling_probability=probability), received=NOW - SECOND)


def figures(group: MeasureGroup) -> dict[str, tuple[float | None, int]]:
    """Of the states: by kind the value and the tasks that have it."""
    assert group.trials is not None
    found = [one for one in group.trials.figures if one.figure[1] == STATE.letter]
    return {one.figure[0].value: (one.value and round(one.value, 9), one.tasks) for one in found}


def test_a_cell_is_all_that_trials_have_in_common(store: SharedStore) -> None:
    """Task, service, version, behaviour, persona, user model and fix, however long each is."""
    same = {"tracejury.task.id": "t"}
    long = "p" * 300
    a_trial(store, 1, 0.0, same | {"tracejury.persona": long})
    a_trial(store, 2, 1.0, same | {"tracejury.persona": long})
    for number, said in enumerate(
        ({"persona": f"{long}q"}, {"behaviour": "goal-switching"}, {"user.model": "m"}, {"fix.id": "f"}), start=3
    ):
        a_trial(store, number, 1.0, same | {f"tracejury.{key}": value for key, value in said.items()})
    a_trial(store, 7, 1.0, same, version="2")
    a_trial(store, 8, 1.0, same, service="desk")
    assert figures(ask(store).total) == {
        "mean": (round(6.5 / 7, 9), 1),
        "max@k": (1, 1),
        "pass@k": (1, 1),
        "pass^k": (0, 1),
    }
    assert figures(ask(store, k=3).total)["max@k"] == (None, 0)


def test_rows_are_means_of_tasks(store: SharedStore) -> None:
    """In all, by group and over time, whatever the sampling; not of sessions without a task or judged by hand."""
    for number, (task, value, version) in enumerate(
        [("a", 0.2, "1"), ("a", 0.8, "1"), ("a", 0.8, "1"), ("b", 0.2, "1"), ("b", 0.2, "1"), ("b", 1.0, "2")], start=1
    ):
        a_trial(store, number, value, {"task_id": task}, 0.5 if number == 1 else 1.0, version=version)
    a_trial(store, 7, 0.0, {})
    a_trial(store, 8, 0.0, {"task_id": "a"}, 0.0)
    answer = ask(store, by=("version",), threshold=0.8)
    assert answer.total.trials is not None
    assert (answer.total.sessions, answer.total.trials.trials, answer.total.trials.tasks) == (7, 6, 2)
    assert figures(answer.total)["mean"] == (0.6, 2)
    assert figures(answer.total)["pass^k"] == (round(1 / 6, 9), 2)
    by_version = {row.key: figures(row) for row in answer.rows}
    assert by_version["1"]["mean"] == (0.4, 2)
    assert by_version["2"] == {"mean": (1, 1), "max@k": (None, 0), "pass@k": (None, 0), "pass^k": (None, 0)}
    (row,) = ask(store, step=SECOND).rows
    assert figures(row) == figures(ask(store).total)
    assert ask(store, trials=False).total.trials is None


def test_the_report_by_hand(store: SharedStore) -> None:
    """A task of five trials, two of which succeed, and one of two; what needs more trials is of the first alone."""
    values = [("a", value) for value in (0.2, 0.4, 0.4, 0.6, 1.0)] + [("b", 1.0)] * 2
    for number, (task, value) in enumerate(values, start=1):
        a_trial(store, number, value, {"task_id": task})
    assert figures(ask(store, threshold=0.6).total) == {
        "mean": (0.76, 2), "max@k": (0.85, 2), "pass@k": (0.85, 2), "pass^k": (0.55, 2),
    }  # fmt: skip
    shown = figures(ask(store, threshold=0.6, k=3).total)
    assert (shown["max@k"], shown["pass@k"], shown["pass^k"]) == ((0.82, 1), (0.9, 1), (0, 1))
    validated = replace(OF_STATES, measures=(STATE, replace(POLICIES, validates=True)))
    trials = StoredMeasures(store, lambda: [validated], TASK_KEYS).of(validated, MeasureQuery(0, NOW, trials=True))
    assert trials.total.trials is not None
    assert {one.figure[1] for one in trials.total.trials.figures} == {"S"}  # all trials are valid


def test_versions_are_compared_by_task(store: SharedStore) -> None:
    """Over the tasks that both have."""
    for number, (task, value, version) in enumerate(
        [("a", 0.2, "1"), ("a", 0.5, "2"), ("b", 0.6, "1"), ("b", 0.9, "2"), ("c", 0.0, "2")], start=1
    ):
        a_trial(store, number, value, {"task_id": task}, version=version)
    to = MeasureQuery(0, NOW, trials=True, version="1")
    compared = stored(store).compare(ask(store, version="2"), to).trials
    mean = next(one for one in compared if one.figure == (Kind.MEAN, "S"))
    assert mean.estimate is not None
    assert mean.tasks == 2
    assert (mean.estimate.low, mean.value, mean.estimate.high) == pytest.approx((0.3, 0.3, 0.3))


@pytest.mark.parametrize("trials", [False, True])
def test_an_invalid_session_is_in_no_measure_of_any_pack(store: SharedStore, trials: bool) -> None:  # noqa: FBT001
    """Not among the worst either, but counted; a check without a value leaves a session valid."""
    for number, valid in ((1, 1.0), (2, 0.5), (3, None), (4, 0.0)):
        a_trial(store, number, number / 4, {"task_id": "t"}, 0.0 if number == 4 else 1.0)
        save(store, a_value(VALID.judge, of_session("shop", f"s{number}"), valid), received=NOW - 2 * SECOND)
    answer = ask(store, VALID, by=("version",), trials=trials)
    for group in (answer.total, *answer.rows):
        assert (group.sessions, group.invalid, group.figures[0].value) == (2, 1, 0.5)
        assert group.trials is None or group.trials.trials == 2
    assert [one.session_id for one in answer.worst] == ["s1", "s3"]
    assert ask(store).total.invalid == 0, "without the pack nothing validates sessions"


def test_a_simulated_session_whose_users_model_failed_is_invalid(store: SharedStore) -> None:
    """Whatever checks say; on one of its spans is enough."""
    said = {"tracejury.simulated": "true", "tracejury.task.id": "t"}
    a_trial(store, 1, 1.0, said, simulated=True)
    a_trial(store, 2, 0.0, said | {"tracejury.user.failed": "true"}, simulated=True)
    (row,) = ask(store, simulated=True, by=("version",)).rows
    assert (row.sessions, row.invalid, row.figures[0].value) == (1, 1, 1.0)


def test_a_measure_may_stand_beside_the_average(store: SharedStore) -> None:
    """In neither AVG nor the order of the worst sessions."""
    for number, policies in ((1, 1.0), (2, 0.0)):
        a_trial(store, number, number / 4, {})
        save(store, a_value(POLICY, of_session("shop", f"s{number}"), policies), received=NOW - SECOND)
    beside = replace(PACK, measures=(STATE, replace(POLICIES, averaged=False)))
    (answer,) = StoredMeasures(store, lambda: [beside], TASK_KEYS).ask(MeasureQuery(0, NOW))
    assert answer.total.average == 0.375
    assert [(one.session_id, one.average, [*one.values]) for one in answer.worst] == [
        ("s1", 0.25, [0.25, 1.0]), ("s2", 0.5, [0.5, 0.0]),
    ]  # fmt: skip
