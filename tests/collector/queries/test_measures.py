"""Measures of sessions over the real store: means, groups, weights, what counts and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from listed_traces import SECOND, Listed, store_all
from measured_sessions import PACK, POLICY, STATES, TASK_KEYS, a_value, an_item, of_exchange, of_session, save
from store_parts import a_span

from tracejury.collector.queries.measured_packs import installed_packs
from tracejury.collector.queries.measures import MeasureAnswer, StoredMeasures, answer_of
from tracejury.collector.store import measures
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.measures import MeasuredPack, MeasuredSession, MeasureQuery, PackMeasure, SessionMeasure
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind

NOW = 1_800_000_000 * SECOND
HOUR = 3_600 * SECOND


def ask(store: SharedStore, **asked: Any) -> MeasureAnswer:
    (answer,) = StoredMeasures(store, lambda: [PACK], TASK_KEYS).ask(MeasureQuery(**{"since": 0, "until": NOW} | asked))
    return answer


def means(answer: MeasureAnswer) -> list[tuple[str, list[float | None]]]:
    """By group, the means of its measures."""
    return [(row.key, [one.value for one in row.figures]) for row in answer.rows]


def a_session(store: SharedStore, number: int, states: float | None, policies: float | None, **changes: Any) -> Listed:
    """A session of one trace, with both measures."""
    given: dict[str, Any] = {"probability": 1.0, "at": NOW - HOUR} | changes
    probability, at = given.pop("probability"), given.pop("at")
    trace = Listed(number, session=f"s{number}", received=at, start=at - SECOND, **given)
    store_all(store, [trace])
    whole = of_session(trace.service, trace.session)
    save(
        store,
        a_value(STATES, whole, states, sampling_probability=probability),
        a_value(POLICY, whole, policies, sampling_probability=probability),
        received=at,
    )
    return trace


def test_means_of_sessions(store: SharedStore) -> None:
    """Over those where a measure is defined, with its interval; the average is the plain mean of the measures."""
    a_session(store, 1, 0.5, None)
    a_session(store, 2, 1.0, 0.8)
    total = ask(store).total
    states, policies = total.figures
    assert (states.n, states.not_applicable, policies.n, policies.not_applicable) == (2, 0, 1, 1)
    assert states.estimate is not None
    assert policies.estimate is not None
    assert states.estimate.low < states.estimate.value == 0.75 < states.estimate.high
    assert total.average == pytest.approx((0.75 + 0.8) / 2)
    assert total.sessions == 2


def test_pooled_measures_weigh_items(store: SharedStore) -> None:
    """Numerators over denominators: the long session counts for more."""
    for number, part, of in ((1, 1, 1), (2, 1, 3)):
        store_all(store, [Listed(number, session=f"s{number}", received=NOW - HOUR)])
        save(store, a_value(STATES, of_session("shop", f"s{number}"), part, of), received=NOW - HOUR)
    (mean, _), (pooled, _) = (ask(store, pooled=pooled).total.figures for pooled in (False, True))
    assert [mean.value, pooled.value] == pytest.approx([2 / 3, 0.5])


def test_sampled_sessions_stand_for_several(store: SharedStore) -> None:
    """A weight of 1/p; a session that was asked for by hand counts in no figure, but may be the worst."""
    a_session(store, 1, 1.0, None, probability=0.25)
    a_session(store, 2, 0.0, None)
    a_session(store, 3, 0.1, None, probability=0.0)
    answer = ask(store)
    assert answer.total.figures[0].value == pytest.approx(0.8)
    assert (answer.total.figures[0].n, answer.total.sessions) == (2, 2)
    assert [one.session_id for one in answer.worst] == ["s2", "s3", "s1"]


def test_lone_traces_and_other_subjects_are_no_sessions(store: SharedStore) -> None:
    """A trace without a session id has measures, which are in no figure; those of exchanges are not a session's."""
    a_session(store, 1, 0.5, None)
    lone = Listed(2, received=NOW - HOUR)
    store_all(store, [lone])
    save(
        store,
        a_value(STATES, Subject(SubjectKind.SESSION, lone.trace_id, lone.trace_id), 0.0),
        a_value(POLICY, of_exchange(lone), 0.0),
        received=NOW - HOUR,
    )
    assert [figure.n for figure in ask(store).total.figures] == [1, 0]


def test_what_is_unscored_and_ungrounded_is_counted(store: SharedStore) -> None:
    """Of the session itself and of its exchanges, whose numbers and states are averaged, too."""
    traces = a_session(store, 1, 0.5, None), Listed(2, session="s1", received=NOW - HOUR)
    store_all(store, traces[1:])
    whole = of_session("shop", "s1")
    loose = an_item(answer="no", best=False, grounded=False)
    save(
        store,
        a_value(POLICY, whole, None, not_applicable=False, unscored_reason="no answer", items=(loose,)),
        a_value(STATES, of_exchange(traces[0]), 1, items=(an_item(), loose)),
        a_value(STATES, of_exchange(traces[1]), 1, items=(an_item(), an_item(), an_item(), loose)),
        a_value(STATES, of_exchange(traces[1], 1), 0, items=(loose,)),  # it was one before late spans came
        a_value(POLICY, of_exchange(traces[0]), 0, items=(loose,)),  # the session's own item, asked early
        received=NOW - HOUR,
        judged_at=2,
    )
    total = ask(store).total
    assert [(one.unscored, one.ungrounded) for one in total.figures] == [(0, 2), (1, 1)]
    assert total.exchanges is not None
    assert total.states is not None
    assert (total.exchanges.mean, total.states.mean, total.states.deviation, total.states.n) == (2, 3, 1, 2)


def test_groups(store: SharedStore) -> None:
    """By service, version, agent, model, task and any attribute, the lowest average first; "" has no name."""
    a_session(store, 1, 1.0, None, version="1", model="gpt")
    last = a_session(store, 2, 0.5, None, version="2", model="other", service="desk")
    span = a_span(trace_id=last.trace_id, attributes={"metadata": '{"task_id": 7}', "tier": "gold"}, service="desk")
    store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW - HOUR))
    for by, keys in {
        "service": ["desk", "shop"], "version": ["2", "1"], "agent": ["planner"], "model": ["other", "gpt"],
        "task": ["7", ""], "attribute:tier": ["gold", ""],
    }.items():  # fmt: skip
        assert [key for key, _ in means(ask(store, by=(by,)))] == keys, by
    assert means(ask(store, by=("version",))) == [("2", [0.5, None]), ("1", [1.0, None])]
    assert ask(store, by=("version",), limit=1).left == 1
    for name, value in {"service": "desk", "version": "2", "model": "other", "task": "7"}.items():
        assert means(ask(store, by=("version",), **{name: value})) == [("2", [0.5, None])], name


def test_groups_by_the_answer_to_a_check_with_one_item(store: SharedStore) -> None:
    """Of any pack; "" where it has several items, no value, or was not asked."""
    items = {1: ("late",), 2: ("lost",), 3: ("late", "lost"), 4: ("late",), 5: ()}
    for number, words in items.items():
        a_session(store, number, number / 10, None, version=str(number % 2))
        answers = tuple(an_item(answer=word, best=False) for word in words)
        value = None if number == 4 else 0.0
        verdict = a_value("other-kind", of_session("shop", f"s{number}"), value, items=answers)
        save(store, verdict, received=NOW - HOUR)
    kind = PackMeasure("K", "other-kind", "Kind", "What kind it is.")
    packs = StoredMeasures(store, lambda: [PACK, MeasuredPack("other", "Other", (kind,))], TASK_KEYS)
    answer, _ = packs.ask(MeasureQuery(0, NOW, by=("answer:other-kind", "version")))
    assert [(row.keys, row.figures[0].value) for row in answer.rows] == [
        (("late", "1"), 0.1), (("lost", "0"), 0.2), (("", "0"), pytest.approx(0.4)), (("", "1"), pytest.approx(0.4))
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"by: there is no check 'kind': use one of .*other-kind"):
        packs.ask(MeasureQuery(0, NOW, by=("answer:kind",)))


def test_a_session_has_the_version_of_its_first_trace(store: SharedStore) -> None:
    """However many traces it has, it counts once."""
    a_session(store, 1, 1.0, None, version="2")
    store_all(store, [Listed(9, session="s1", version="1", received=NOW, start=1)])
    assert means(ask(store, by=("version",))) == [("1", [1.0, None])]


def test_points_in_time_and_the_bounds_of_time(store: SharedStore) -> None:
    """By the arrival of a session's last span; `until` is left out."""
    for number, at, value in ((1, NOW - 3 * HOUR, 0.2), (2, NOW - HOUR, 0.4), (3, NOW - HOUR + 1, 0.6)):
        a_session(store, number, value, None, at=at)
    answer = ask(store, step=HOUR)
    assert [(row.at, row.sessions) for row in answer.rows] == [(NOW - 3 * HOUR, 1), (NOW - HOUR, 2)]
    assert ask(store, since=NOW - HOUR, until=NOW - HOUR + 1).total.sessions == 1
    assert ask(store, since=NOW).total.figures[0].estimate is None


def test_a_session_judged_again_counts_with_what_holds(store: SharedStore) -> None:
    """One row a measure, the latest; its time is that of its last span, also for what was not asked again."""
    a_session(store, 1, 0.2, 0.5, at=NOW - 10 * HOUR)
    save(store, a_value(STATES, of_session("shop", "s1"), 1), received=NOW - HOUR, judged_at=2)
    assert ask(store, until=NOW - 2 * HOUR).total.sessions == 0
    assert [one.value for one in ask(store, since=NOW - 2 * HOUR).total.figures] == [1.0, 0.5]


def test_differences(store: SharedStore) -> None:
    """Of two versions, with an interval; None where one has no value."""
    for number in range(1, 21):
        a_session(store, number, 0.9 if number % 2 else 0.1, None, version=str(number % 2))
    stored = StoredMeasures(store, lambda: [PACK], TASK_KEYS)
    query = MeasureQuery(0, NOW, version="1")
    (answer,) = stored.ask(query)
    compared = stored.compare(answer, MeasureQuery(0, NOW, version="0"))
    states = compared.differences["S"]
    assert states is not None
    assert 0 < states.low < round(states.value, 9) == 0.8 < states.high
    assert compared.differences["P"] is None


def test_what_is_read_at_once_is_bounded(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest sessions of the time are read, the others counted."""
    monkeypatch.setattr(measures, "MOST_SESSIONS", 2)
    for number in (1, 2, 3):
        a_session(store, number, number / 4, None, at=NOW - number * HOUR)
    answer = ask(store)
    assert (answer.unread, sorted(one.session_id for one in answer.worst)) == (1, ["s1", "s2"])


def test_other_tenants_are_not_read(store: SharedStore) -> None:
    a_session(store, 1, 0.2, None)
    (answer,) = StoredMeasures(store, lambda: [PACK], TASK_KEYS, "other").ask(MeasureQuery(0, NOW))
    assert answer.total.sessions == 0


@given(st.data())
def test_measures_stay_within_bounds_whatever_the_order(data: st.DataObject) -> None:
    """No order of sessions changes a figure; a value that becomes smaller raises none."""
    parts = st.one_of(st.none(), st.integers(0, 4))
    drawn = data.draw(st.lists(st.tuples(parts, parts, st.sampled_from([0.0, 1.0, 4.0])), min_size=1, max_size=8))
    sessions = [drawn_session(at, *one) for at, one in enumerate(drawn)]
    query = MeasureQuery(0, NOW, pooled=data.draw(st.booleans()))
    answer = answer_of(PACK, query, sessions)
    assert answer_of(PACK, query, data.draw(st.permutations(sessions))) == answer
    for figure in answer.total.figures:
        if figure.estimate is not None:
            assert 0 <= figure.estimate.low <= figure.estimate.value <= figure.estimate.high <= 1
    at = data.draw(st.integers(0, len(drawn) - 1))
    states, policies, weight = drawn[at]
    if states:
        sessions[at] = drawn_session(at, states - 1, policies, weight)
        (lower, _), (before, _) = (one.total.figures for one in (answer_of(PACK, query, sessions), answer))
        assert (lower.value or 0) <= (before.value or 0) + 1e-9


def drawn_session(at: int, states: int | None, policies: int | None, weight: float) -> MeasuredSession:
    """Of four states and four policies; None: not applicable."""
    values = {
        judge: SessionMeasure(None, None, 0, 0, False, weight) if part is None  # noqa: FBT003  in order of columns
        else SessionMeasure(part / 4, part / 4, part, 4, False, weight)  # noqa: FBT003
        for judge, part in ((STATES, states), (POLICY, policies))
    }  # fmt: skip
    return MeasuredSession("shop", f"s{at}", at, (("",),), weight, values)


def test_an_unknown_pack_is_refused(store: SharedStore) -> None:
    with pytest.raises(ConfigError, match="no pack 'x': use one of demo"):
        ask(store, pack="x")


def test_the_packs_of_the_installation_are_read() -> None:
    """PIPA with its five measures, of which one tells the states of exchanges."""
    pipa = next(pack for pack in installed_packs() if pack.name == "pipa")
    assert ("".join(measure.letter for measure in pipa.measures), pipa.states) == ("SAOPR", "pipa-state")


def test_sessions_that_wait_are_counted_beside_those_measured(store: SharedStore) -> None:
    """Open ones, those that have grown and queued ones; none that sampling left out, none of other judges."""

    def said(subject: Subject, outcome: Outcome, judge: str = STATES) -> None:
        row = Judgement(subject, judge, "v1", "hash", 1, NOW - HOUR, outcome)
        StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, (row,))])

    exchanges = {
        number: Listed(number, session=f"s{number}", received=NOW - HOUR, version=str(number)) for number in range(2, 8)
    }
    measured = a_session(store, 1, 0.5, None)
    said(of_exchange(measured), Outcome.DONE)
    store_all(store, [*exchanges.values()])
    said(of_exchange(exchanges[2]), Outcome.DONE)
    said(of_exchange(exchanges[3]), Outcome.PENDING)
    said(of_exchange(exchanges[4]), Outcome.DONE)
    said(of_session("shop", "s4"), Outcome.PENDING)
    said(of_exchange(exchanges[5]), Outcome.SAMPLED_OUT)
    said(of_exchange(exchanges[6]), Outcome.DONE, "another-pack")
    said(of_exchange(exchanges[7]), Outcome.FAILED)
    said(of_session("shop", "s7"), Outcome.FAILED)
    answer = ask(store)
    assert (answer.total.sessions, answer.waiting) == (1, 3)
    assert (ask(store, version="2").waiting, ask(store, service="none").waiting) == (1, 0)
    assert (ask(store, until=NOW - 2 * HOUR).waiting, ask(store, task="t").waiting) == (0, None)
    store_all(store, [Listed(9, session="s1", received=NOW - HOUR + SECOND)])
    said(of_exchange(Listed(9, session="s1")), Outcome.DONE)
    assert ask(store).waiting == 4, "it has grown since it was measured"
