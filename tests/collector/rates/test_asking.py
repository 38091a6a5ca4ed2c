"""Questions that mean nothing, ends of the scale, and what happens around an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from store_parts import a_finding, a_judged_trace, a_run, a_span

from tracejury.collector.rates import StoredRates
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.derived.rederiving import rederive
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.processors.normalize import normalize
from tracejury.schemas.errors import ConfigError, RetryableError
from tracejury.schemas.queries.points import MAX_POINTS, MOST_CELLS
from tracejury.schemas.rates import By, Population, RateQuery, Unit
from tracejury.schemas.trajectory import AgentRun, TraceState, Turn, TurnKind
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

T0 = 497_232 * HOUR
EVER = RateQuery(0, 2**63 - 1, population=Population.DETECTORS)


def rates(store: SharedStore) -> StoredRates:
    return StoredRates(store, rules=("loops",))


def save(store: SharedStore, number: int, *, hour: int = 0, **trace: Any) -> None:
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
def test_what_means_nothing_is_refused(store: SharedStore, changes: dict[str, Any], why: str) -> None:
    """In one line; nothing is read."""
    with pytest.raises(ConfigError, match=why):
        rates(store).ask(replace(EVER, **changes))


def test_an_empty_store_has_no_rate(store: SharedStore) -> None:
    """Nothing judged is no share of 0; a comparison has no difference."""
    answer = rates(store).ask(RateQuery(0, 2**63 - 1))
    assert (answer.total.judged, answer.total.share, answer.rows) == (0, None, ())
    assert rates(store).compare(EVER, EVER).p_value is None


def test_one_run(store: SharedStore) -> None:
    """One of one: a share of 1 with an interval that tells how little that is."""
    save(store, 1)
    share = rates(store).ask(EVER).total.share
    assert share is not None
    assert (share.value, share.high) == (1.0, 1.0)
    assert share.low < 0.3


@pytest.mark.parametrize(
    ("unit", "judged", "beside"),
    [
        (Unit.RUN, 3, {"no-content": 2}), (Unit.TURN, 3, {"no-content": 2}),
        (Unit.TRACE, 3, {"no-calls": 2, "no-content": 1}), (Unit.SESSION, 2, {"no-calls": 2, "no-content": 1}),
    ],
)  # fmt: skip
def test_what_could_not_be_judged_stands_beside_the_rates(
    store: SharedStore, unit: Unit, judged: int, beside: dict[str, int]
) -> None:
    """A run, a trace, and a session that such a trace may hide something of; one without calls hides nothing."""
    call = normalize(a_span(attributes={"openinference.span.kind": "LLM"}))
    silent = a_run(id="run-2", goal="", answer="", turns=(Turn(0, TurnKind.ACT, call),))
    save(store, 1, session_id="a")
    of_sessions: list[tuple[str, tuple[AgentRun, ...]]] = [
        ("a", ()), ("b", (a_run(),)), ("b", (silent,)), ("c", ()), ("d", (a_run(), silent)),
    ]  # fmt: skip
    healthy = [
        a_judged_trace(judged_at=T0, received=T0, trace_id=f"{number:032x}", session_id=session, runs=runs)
        for number, (session, runs) in enumerate(of_sessions, 2)
    ]
    StoredJudging(store).save(healthy)
    answer = rates(store).ask(replace(EVER, unit=unit))
    assert (answer.total.judged, answer.total.hits, answer.unjudged.counts) == (judged, 1, beside)
    judges = rates(store).ask(replace(EVER, unit=unit, population=Population.JUDGES)).unjudged.counts
    assert judges == beside | {"not-asked": 3}


def test_ten_thousand_groups_are_bounded(store: SharedStore) -> None:
    """The worst are shown, and how many are left."""
    runs = tuple(a_run(id=f"run-{n}", name=f"agent-{n}") for n in range(10_000))
    save(store, 1, runs=runs)
    answer = rates(store).ask(replace(EVER, since=T0, until=T0 + HOUR, by=By.AGENT, limit=3, step=HOUR))
    assert [row.key for row in answer.rows] == ["agent-1", "agent-0", "agent-10"]
    assert (answer.left, answer.total.judged) == (9_997, 10_000)


def test_many_groups_are_ranked_by_the_store(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few sums are read, however many groups there are."""
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
    monkeypatch.setattr(store, "rows", counted)
    many = asking.ask(query)
    assert read < 50
    assert many.left == 2_995


def test_groups_at_points_in_time_are_bounded(store: SharedStore) -> None:
    """Where they would be too many fewer groups show, the worst; the answer says how many do not."""
    runs = tuple(a_run(id=f"run-{n}", name=f"agent-{n}") for n in range(100))
    save(store, 1, runs=runs)
    year = replace(EVER, since=T0, until=T0 + MAX_POINTS * HOUR, by=By.AGENT)
    answer = rates(store).ask(replace(year, step=HOUR))
    assert (len(answer.rows), answer.left) == (MOST_CELLS // MAX_POINTS, 100 - MOST_CELLS // MAX_POINTS)
    assert rates(store).ask(replace(year, step=1000 * HOUR)).left == 0


@pytest.mark.parametrize("by", [By.CATEGORY, By.TAXONOMY, By.JUDGE])
def test_a_group_shows_where_its_session_was_judged(store: SharedStore, by: By) -> None:
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
def test_an_llm_judges_errors_count_where_it_scored(store: SharedStore, asked: dict[str, Any]) -> None:
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
def test_a_category_in_any_case(store: SharedStore, name: str) -> None:
    """As people write it; one of a taxonomy of one's own is what it is."""
    save(store, 1)
    assert rates(store).ask(replace(EVER, category=name)).total.hits == 1
    assert rates(store).ask(replace(EVER, category="own/resource abuse")).total.hits == 0


def test_a_hostile_name_is_a_name(store: SharedStore) -> None:
    """It is bound, never part of a query; as a group and as a filter."""
    name = "x' OR 1=1 --{tenant:String}\\"
    save(store, 1, runs=(a_run(name=name),))
    save(store, 2)
    assert rates(store).ask(replace(EVER, agent=name)).total.judged == 1
    assert {row.key for row in rates(store).ask(replace(EVER, by=By.AGENT)).rows} == {name, "planner"}


def test_endless_names_are_found_by_themselves(store: SharedStore) -> None:
    """They are told apart by their beginning, in the store as in the filter."""
    name = "n" * 2**20
    save(store, 1, runs=(a_run(name=name),))
    assert rates(store).ask(replace(EVER, agent=name)).total.judged == 1


def test_another_tenant_sees_nothing(store: SharedStore) -> None:
    """Each has rates of its own."""
    save(store, 1)
    assert StoredRates(store, rules=("loops",), tenant="acme").ask(EVER).total.judged == 0


def test_what_an_earlier_version_stored_is_derived_first(store: SharedStore) -> None:
    """Until then a question is to be asked again; what was judged meanwhile is derived already."""
    for number in range(3):
        save(store, number)
    store.command("TRUNCATE TABLE run_facts")
    store.command("INSERT INTO underived SELECT tenant, '', 1, 0, 0 FROM traces GROUP BY tenant")
    with pytest.raises(RetryableError, match=r"are still being made of what was stored before$"):
        rates(store).ask(EVER)
    assert list(rederive(store)) == [3]
    assert rates(store).ask(EVER).total.judged == 3


def test_what_was_deleted_stands_in_no_rate(store: SharedStore) -> None:
    """Its facts go with it."""
    for number in range(2):
        save(store, number)
    before = rates(store).ask(EVER).total.judged
    TraceDeleter(store, clock=lambda: T0 + 100 * HOUR).delete([f"{0:032x}"], T0 + HOUR)
    assert (before, rates(store).ask(EVER).total.judged) == (2, 1)
