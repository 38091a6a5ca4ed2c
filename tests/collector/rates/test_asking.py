"""Questions that mean nothing, ends of the scale, and what happens around an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from store_parts import a_finding, a_judged_trace, a_run
from tracejury.collector.rates.buckets import Mark, Marks, marks, plan
from tracejury.collector.rates.catching_up import PAGE
from tracejury.collector.rates.folding import Folding

from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.question import MAX_POINTS, exact
from tracejury.collector.rates.reading import FEW, MOST
from tracejury.collector.rates.upkeep import MOST_WAITED, RateUpkeep
from tracejury.collector.store.client import Store
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.schemas.errors import ConfigError, RetryableError
from tracejury.schemas.rates import By, Population, RateQuery, Unit
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

pytestmark = pytest.mark.store

T0 = 497_232 * HOUR
EVER = RateQuery(0, 2**63 - 1, population=Population.DETECTORS)


def rates(store: Store) -> StoredRates:
    return StoredRates(store, rules=("loops",))


def save(store: Store, number: int, *, hour: int = 0, **trace: Any) -> None:
    """A judged trace with one finding."""
    trace_id = f"{number:032x}"
    found = a_finding(trace_id=trace_id)
    at = T0 + hour * HOUR
    StoredJudging(store).save([a_judged_trace(found, judged_at=at, received=at, trace_id=trace_id, **trace)])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"since": 5, "until": 5}, "the time ends before it begins"),
        ({"since": 6, "until": 5}, "the time ends before it begins"),
        ({"since": 2**64, "until": 2**65}, "the time ends before it begins"),
        ({"step": 2**63}, "the step must be shorter than all time"),
        ({"step": -1}, "the step must be longer than nothing"),
        ({"since": 0, "until": HOUR, "step": HOUR // MAX_POINTS - 1}, f"more than {MAX_POINTS} points"),
        ({"severity": "awful"}, "unknown severity 'awful'"),
        ({"category": "Formating Errors"}, "'Formating Errors' is no category of TRAIL"),
        ({"category": "trail/Nonsense"}, "'Nonsense' is no category of TRAIL"),
        ({"category": "Nonsense", "taxonomy": "trail"}, "'Nonsense' is no category of TRAIL"),
        ({"profile": "lax"}, "unknown profile 'lax'"),
        ({"profile": "1.5"}, "unknown profile '1.5'"),
    ],
)
def test_what_means_nothing_is_refused(store: Store, changes: dict[str, Any], why: str) -> None:
    """In one line; nothing is read."""
    with pytest.raises(ConfigError, match=why):
        rates(store).ask(replace(EVER, **changes))


def test_an_empty_store_has_no_rate(store: Store) -> None:
    """Nothing judged is no share of 0; a comparison has no difference."""
    answer = rates(store).ask(RateQuery(0, 2**63 - 1))
    assert (answer.total.judged, answer.total.share, answer.rows) == (0, None, ())
    assert rates(store).compare(EVER, EVER).p_value is None


def test_one_run(store: Store) -> None:
    """One of one: a share of 1 with an interval that tells how little that is."""
    save(store, 1)
    share = rates(store).ask(EVER).total.share
    assert share is not None
    assert (share.value, share.high) == (1.0, 1.0)
    assert share.low < 0.3


def test_ten_thousand_groups_are_bounded(store: Store) -> None:
    """The worst are shown, and how many are left."""
    runs = tuple(a_run(id=f"run-{n}", name=f"agent-{n}") for n in range(10_000))
    save(store, 1, runs=runs)
    answer = rates(store).ask(replace(EVER, since=T0, until=T0 + HOUR, by=By.AGENT, limit=3, step=HOUR))
    assert [row.key for row in answer.rows] == ["agent-1", "agent-0", "agent-10"]
    assert (answer.left, answer.total.judged) == (9_997, 10_000)


def test_many_groups_are_ranked_by_the_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sums are read, however many groups there are; those that show are as among few."""
    runs = tuple(a_run(id=f"run-{n}", name=f"agent-{n}") for n in range(3_000))
    save(store, 1, runs=runs)
    query = replace(EVER, by=By.AGENT, limit=5)
    read = 0
    rows = store.rows

    def counted(sql: str, parameters: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        nonlocal read
        found = rows(sql, parameters)
        read += len(found)
        return found

    asking = rates(store)
    asking.ask(query)
    monkeypatch.setattr(store, "rows", counted)
    many = asking.ask(query)
    assert read < FEW + 50
    monkeypatch.setattr("tracejury.collector.rates.reading.FEW", 100_000)
    assert many == asking.ask(query)
    assert many.left == 2_995


def test_groups_at_points_in_time_are_bounded(store: Store) -> None:
    """Where they would be too many fewer groups show, the worst; the answer says how many do not."""
    runs = tuple(a_run(id=f"run-{n}", name=f"agent-{n}") for n in range(100))
    save(store, 1, runs=runs)
    year = replace(EVER, since=T0, until=T0 + MAX_POINTS * HOUR, by=By.AGENT)
    answer = rates(store).ask(replace(year, step=HOUR))
    assert (len(answer.rows), answer.left) == (MOST // MAX_POINTS, 100 - MOST // MAX_POINTS)
    assert rates(store).ask(replace(year, step=1000 * HOUR)).left == 0


@pytest.mark.parametrize("by", [By.CATEGORY, By.TAXONOMY, By.JUDGE])
def test_a_group_shows_where_its_session_was_judged(store: Store, by: By) -> None:
    """Its only error is in a trace that a policy left out; the hour of its judged trace has the group with none."""
    save(store, 1, hour=1, session_id="s", outcome=Outcome.FILTERED)
    clean = a_judged_trace(judged_at=T0, received=T0, trace_id=f"{2:032x}", session_id="s")
    StoredJudging(store).save([clean])
    query = replace(EVER, since=T0, until=T0 + 2 * HOUR, by=by, unit=Unit.SESSION)
    (whole,) = rates(store).ask(query).rows
    assert (whole.rate.judged, whole.rate.errors) == (1, 1)
    (stepped,) = rates(store).ask(replace(query, step=HOUR)).rows
    assert (stepped.key, stepped.at) == (whole.key, T0)
    assert (stepped.rate.judged, stepped.rate.errors) == (1, 0)


@pytest.mark.parametrize("asked", [{"by": By.JUDGE}, {"judge": "goal"}])
def test_an_llm_judges_errors_count_where_it_scored(store: Store, asked: dict[str, Any]) -> None:
    """A trace of the session was rebuilt without the run in which the judge had found an error."""
    for number, runs in ((1, (a_run(),)), (2, ())):
        trace_id = f"{number:032x}"
        trace = a_judged_trace(judged_at=T0, received=T0, trace_id=trace_id, session_id="s", runs=runs)
        StoredJudging(store).save([trace])
        found = a_finding(trace_id=trace_id, judge="goal") if number == 2 else None
        subject = Subject(SubjectKind.AGENT_RUN, "run-1", trace_id)
        judgement = Judgement(
            subject, "goal", "v1", "content", T0 + 1, T0, Outcome.DONE,
            findings=(found,) if found else (), verdicts=(Verdict("goal", "v1", subject, 3),),
        )  # fmt: skip
        changed = (found,) if found else ()
        StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, (judgement,), changed)])
    query = replace(EVER, population=Population.JUDGES, unit=Unit.SESSION, **asked)
    answer = rates(store).ask(query)
    found_rates = [row.rate for row in answer.rows] or [answer.total]
    assert [(rate.judged, rate.errors) for rate in found_rates] == [(1, 0)]


@pytest.mark.parametrize("name", ["Resource Abuse", "resource abuse", "trail/RESOURCE  ABUSE"])
def test_a_category_in_any_case(store: Store, name: str) -> None:
    """As people write it; one of a taxonomy of one's own is what it is."""
    save(store, 1)
    assert rates(store).ask(replace(EVER, category=name)).total.hits == 1
    assert rates(store).ask(replace(EVER, category="own/resource abuse")).total.hits == 0


def test_a_hostile_name_is_a_name(store: Store) -> None:
    """It is bound, never part of a query; as a group and as a filter."""
    name = "x' OR 1=1 --{tenant:String}\\"
    save(store, 1, runs=(a_run(name=name),))
    save(store, 2)
    assert rates(store).ask(replace(EVER, agent=name)).total.judged == 1
    assert {row.key for row in rates(store).ask(replace(EVER, by=By.AGENT)).rows} == {name, "planner"}


def test_endless_names_are_found_by_themselves(store: Store) -> None:
    """They are told apart by their beginning, in the store as in the filter."""
    name = "n" * 2**20
    save(store, 1, runs=(a_run(name=name),))
    assert rates(store).ask(replace(EVER, agent=name)).total.judged == 1


def test_another_tenant_sees_nothing(store: Store) -> None:
    """Each has rates of its own."""
    save(store, 1)
    assert StoredRates(store, rules=("loops",), tenant="acme").ask(EVER).total.judged == 0


def test_too_much_to_wait_for_is_asked_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade a question does not fold for minutes: it says so, and goes on from there."""
    monkeypatch.setattr("tracejury.collector.rates.folding.AT_ONCE", 1)
    monkeypatch.setattr("tracejury.collector.rates.folding.MOST_WAITED_FOR", 2)
    for number in range(5):
        save(store, number)
    asking = rates(store)
    with pytest.raises(RetryableError, match=r"are still being made of what was stored before$"):
        asking.ask(EVER)
    monkeypatch.undo()
    assert asking.ask(EVER).total.judged == 5


def test_what_an_earlier_process_left_is_found_page_by_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the times in the store, also where there is more than one page."""
    assert PAGE > 3
    monkeypatch.setattr("tracejury.collector.rates.catching_up.PAGE", 3)
    for number in range(8):
        save(store, number)
    store.deletions.take(100)
    assert rates(store).ask(EVER).total.judged == 8


def test_what_an_earlier_process_deleted_stands_in_no_rate(store: Store) -> None:
    """It died before rates were made without it; nothing else in the store tells of it."""
    for number in range(2):
        save(store, number)
    before = rates(store).ask(EVER).total.judged
    TraceDeleter(store, clock=lambda: T0 + 100 * HOUR).delete([f"{0:032x}"], T0 + HOUR)
    store.deletions.lose()
    assert (before, rates(store).ask(EVER).total.judged) == (2, 1)


@pytest.mark.parametrize(("waited", "folded"), [(0, 0), (MOST_WAITED - 1, 0), (MOST_WAITED, 1)])
def test_under_pressure_the_background_rests_for_a_minute(store: Store, waited: int, folded: int) -> None:
    """Facts wait that long; a question makes them at once."""
    now = [T0]
    asking = rates(store)
    pressed = RateUpkeep(store, asking.folding, pressed=lambda: True, clock=lambda: now[0])
    save(store, 1)
    now[0] += waited
    pressed.fold()
    assert store.rows("SELECT uniqExact(TraceId) FROM run_facts") == [(folded,)]
    assert asking.ask(EVER).total.judged == 1


def test_what_was_folded_in_time_is_no_reason_to_go_on_under_pressure(store: Store) -> None:
    now, is_pressed = [T0], [False]
    asking = rates(store)
    upkeep = RateUpkeep(store, asking.folding, pressed=lambda: is_pressed[0], clock=lambda: now[0])
    now[0] += MOST_WAITED
    upkeep.fold()
    save(store, 1)
    is_pressed[0] = True
    upkeep.fold()
    assert store.rows("SELECT count() FROM run_facts") == [(0,)]


def test_gauges_read_what_the_background_has_folded(store: Store) -> None:
    """They leave the rest to it; what an earlier process left is folded first, as for any question."""
    asking = rates(store)
    upkeep = RateUpkeep(store, asking.folding)
    save(store, 1)
    assert asking.ask(EVER, settled=False).total.judged == 1  # the first question of a process
    save(store, 2)
    assert asking.ask(EVER, settled=False).total.judged == 1
    upkeep.fold()
    assert asking.ask(EVER, settled=False).total.judged == 2


def test_sums_that_hold_no_longer_are_dropped(store: Store) -> None:
    """Once nobody can be reading them; those that hold stay."""
    now = [T0 + 100 * HOUR]
    asking = StoredRates(store, rules=("loops",))
    upkeep = RateUpkeep(store, asking.folding, clock=lambda: now[0])
    for number in range(2):
        save(store, number)
        upkeep.fold()
        now[0] += HOUR
        upkeep.roll()
    before = store.rows("SELECT uniqExact(Generation) FROM rate_cells WHERE Hours = 1")
    now[0] += HOUR
    upkeep.clean()
    assert before == [(2,)]
    assert store.rows("SELECT uniqExact(Generation) FROM rate_cells WHERE Hours = 1") == [(1,)]
    assert asking.ask(EVER).total.judged == 2


def test_days_before_hours_before_facts() -> None:
    """Whole days from their sums, else whole hours, else facts; what does not hold is read from facts."""
    first = T0 // HOUR
    hours = {first + n: Mark(10, 20 if n != 30 else 0) for n in (0, 5, 23, 24, 30, 50)}
    found = Marks(hours, {first: Mark(0, 40), first + 24: Mark(0, 41), first + 48: Mark(0, 5)})
    hours[first + 24] = Mark(50, 60)

    def planned(since: int, until: int, step: int = 0) -> tuple[set[int], set[int]]:
        todo = plan(exact(replace(EVER, since=T0 + since, until=T0 + until, step=step), Population.BOTH, ()), found)
        return set(todo.generations), {hour - first for hour in todo.hours}

    assert planned(0, 72 * HOUR) == ({40, 60, 20}, {30})
    assert planned(0, 72 * HOUR, HOUR) == ({20, 60}, {30})
    assert planned(0, 72 * HOUR, HOUR // 2) == (set(), {0, 5, 23, 24, 30, 50})
    assert planned(1, 24 * HOUR) == ({20}, {0})
    assert planned(6 * HOUR, 23 * HOUR + 1) == (set(), {23})


def test_marks_of_whole_days_are_read(store: Store) -> None:
    """A day's sums hold only if none of its hours changed, also those outside the asked time."""
    save(store, 1, hour=1)
    save(store, 2, hour=20)
    rates(store).ask(EVER)
    found = marks(store, "", T0 // HOUR + 1, T0 // HOUR + 1)
    assert sorted(found.hours) == [T0 // HOUR + 1, T0 // HOUR + 20]


def test_traces_that_keep_arriving_keep_no_question_waiting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was touched when it was asked is folded; what is touched meanwhile is not waited for."""
    folding, steps = Folding(store), iter([1])
    monkeypatch.setattr(folding, "step", lambda _most: next(steps))
    with folding.lock:
        folding.settle()
    assert not list(steps)
