"""The arithmetic by which labels of a service move a rule's confidence there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_traces import Said, run, trace

from tracejury.judges.base import Context
from tracejury.judges.records import RecordedConfidence
from tracejury.judges.registry import priors
from tracejury.judges.service_records import (
    ALIKE_FROM,
    STEP,
    STRENGTH,
    LocalConfidence,
    Prior,
    RuleOpinion,
    ServiceRecord,
    heard,
    local_confidence,
    moved,
    tally,
)
from tracejury.schemas.findings import Draft
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Dimension, Severity

BALANCED = threshold("balanced")
COUNTS = st.integers(0, 1000)
LABELLED = st.builds(ServiceRecord, COUNTS, COUNTS)
RECORDS = st.builds(ServiceRecord, COUNTS, COUNTS, COUNTS, COUNTS)
PRIORS = st.one_of(
    st.builds(Prior, st.floats(0, 1), st.just(True)),  # noqa: FBT003  a strategy's value
    st.builds(Prior, st.floats(0, BALANCED * 0.98), st.just(False)),  # noqa: FBT003  a strategy's value
    st.sampled_from(list(priors().values())),
)


@given(PRIORS, RECORDS)
def test_more_right_labels_never_lower_and_more_wrong_ones_never_raise(prior: Prior, record: ServiceRecord) -> None:
    at = local_confidence(prior, record)
    assert 0 <= at <= 1
    # Of the prior itself only its rounding is lost.
    assert local_confidence(prior, replace(record, right=record.right + 1)) >= at - 1e-4 * (not record.labels)
    assert local_confidence(prior, replace(record, wrong=record.wrong + 1)) <= at + 1e-4 * (not record.labels)


@given(PRIORS)
def test_without_labels_the_general_confidence_stands(prior: Prior) -> None:
    assert local_confidence(prior, ServiceRecord()) == prior.mean
    assert moved({"rule": prior}, {}, {}) == {}


@given(st.floats(0, BALANCED * 0.98), RECORDS)
def test_an_unproven_rule_is_balanced_only_by_two_right_labels_of_the_service(
    mean: float, record: ServiceRecord
) -> None:
    at = local_confidence(Prior(mean, proven=False), record)
    assert at < BALANCED or record.right >= 2
    assert local_confidence(Prior(mean, proven=False), ServiceRecord(1, 0)) < BALANCED


def test_two_right_labels_make_an_unproven_rule_balanced_and_many_outweigh_any_record() -> None:
    unproven = next(prior for prior in priors().values() if not prior.proven and prior.mean > 0.2)
    assert unproven.mean < BALANCED <= local_confidence(unproven, ServiceRecord(2, 0))
    surest = max(priors().values(), key=lambda prior: prior.mean)
    assert local_confidence(surest, ServiceRecord(0, 10)) < BALANCED
    assert local_confidence(Prior(0.5, proven=True), ServiceRecord(3, 1)) == pytest.approx((0.5 * 4 + 3) / 8)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.booleans()), max_size=30))
def test_an_error_counts_once_and_not_where_the_labels_contradict_each_other(said: list[tuple[str, int, bool]]) -> None:
    found = tally(RuleOpinion(rule, f"{rule}{number}", right) for rule, number, right in said)
    for rule in "ab":
        words = {number: {right for r, n, right in said if (r, n) == (rule, number)} for number in range(6)}
        right, wrong = (sum(own == {word} for own in words.values()) for word in (True, False))
        assert found.get(rule, ServiceRecord()) == ServiceRecord(right, wrong)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), max_size=30))
def test_what_people_say_of_an_error_goes_before_what_judges_say(said: list[tuple[int, bool, bool]]) -> None:
    found = tally(RuleOpinion("a", str(number), right, judged) for number, right, judged in said)
    people = {number for number, _, judged in said if not judged}
    alone = [RuleOpinion("a", str(n), right, judged) for n, right, judged in said if judged != (n in people)]
    assert found == tally(alone)
    of_people, of_judges = (
        tally(replace(one, judged=False) for one in alone if one.judged is judged).get("a", ServiceRecord())
        for judged in (False, True)
    )
    whole = ServiceRecord(of_people.right, of_people.wrong, of_judges.right, of_judges.wrong)
    assert found.get("a", ServiceRecord()) == whole


@given(PRIORS, LABELLED, st.integers(1, 10**6))
def test_judges_move_the_confidence_less_than_people(prior: Prior, record: ServiceRecord, number: int) -> None:
    """And however many there are, no further than labels of the weight of the general record."""
    at = local_confidence(prior, record)
    refuted, wrong = (
        local_confidence(prior, replace(record, **{k: getattr(record, k) + 1})) for k in ("refuted", "wrong")
    )
    assert wrong - 1e-4 <= refuted <= at + 1e-4
    confirmed = local_confidence(prior, replace(record, confirmed=number))
    right = local_confidence(replace(prior, proven=True), replace(record, right=record.right + STRENGTH))
    assert at - 1e-4 <= confirmed <= right + 1e-4
    most = local_confidence(prior, replace(record, refuted=number))
    assert most >= local_confidence(prior, replace(record, wrong=record.wrong + STRENGTH)) - 1e-4


def test_judges_refute_a_proven_rule_and_prove_none() -> None:
    proven, unproven = Prior(0.7, proven=True), Prior(0.37, proven=False)
    assert local_confidence(proven, ServiceRecord(refuted=4)) == local_confidence(proven, ServiceRecord(wrong=1))
    assert local_confidence(proven, ServiceRecord(refuted=16)) == 0.35 < BALANCED
    assert local_confidence(proven, ServiceRecord(refuted=1000)) == 0.35, "they weigh as much as the general record"
    assert local_confidence(unproven, ServiceRecord(confirmed=1000)) < BALANCED, "only people prove a rule"
    assert local_confidence(unproven, ServiceRecord(right=2, confirmed=1000)) > BALANCED


def test_a_version_needs_a_step_or_the_first_or_last_labels() -> None:
    prior = {"rule": Prior(0.5, proven=True)}
    many = LocalConfidence(ServiceRecord(100, 100), 0.5)
    assert moved(prior, {"rule": ServiceRecord(101, 100)}, {"rule": many}) == {}
    assert abs(moved(prior, {"rule": ServiceRecord(110, 100)}, {"rule": many})["rule"].confidence - 0.5) >= STEP
    assert moved(prior, {"rule": ServiceRecord(1, 1)}, {}) == {"rule": LocalConfidence(ServiceRecord(1, 1), 0.5)}
    assert moved(prior, {}, {"rule": many}) == {"rule": LocalConfidence(ServiceRecord(), 0.5)}
    judged = LocalConfidence(ServiceRecord(refuted=1), 0.4706)
    assert moved(prior, {"rule": judged.record}, {}) == {"rule": judged}
    assert moved(prior, {"rule": judged.record}, {"rule": judged}) == {}
    assert moved(prior, {}, {"rule": judged}) == {"rule": LocalConfidence(ServiceRecord(), 0.5)}
    assert moved(prior, {"gone": ServiceRecord(5, 0)}, {"gone": many}) == {}


@pytest.mark.parametrize(
    ("declared", "stated", "expected"),
    [(0.5, 0.5, 0.9), (0.5, 0.9, 0.9), (0.5, 0.2, 0.2), (0.3, 0.3, 0.9), (0.3, 0.1, 0.1)],
)
def test_a_service_of_its_own_goes_before_the_record_but_not_before_a_doubt(
    declared: float, stated: float, expected: float
) -> None:
    """Also of a candidate; on any other service nothing changes."""

    def local(tenant: str, service: str) -> dict[str, float]:
        return {"mine": 0.9} if (tenant, service) == ("acme", "shop") else {}

    said = replace(trace(run("r1", Said("a1", "Hello.")), tenant="acme"), service="shop")
    draft = Draft("mine", "a1", "Goal Deviation", (Dimension.PLAN_ADHERENCE,), Severity.LOW, stated, "Hello.", "Why.")
    ranker = RecordedConfidence({"mine": declared}, local)
    (ranked,) = ranker.rank(Context(said), [draft])
    assert ranked.confidence == expected
    for other in (replace(said, service="bank"), replace(said, tenant="")):
        assert ranker.rank(Context(other), [draft]) == RecordedConfidence({"mine": declared}).rank(
            Context(other), [draft]
        )


@given(st.lists(st.booleans(), max_size=80), st.lists(st.booleans(), max_size=3))
def test_a_model_whose_answers_are_all_alike_is_not_heard(answers: list[bool], people: list[bool]) -> None:
    """From so many errors on; people, and other models, are."""
    said = [RuleOpinion(f"rule {n % 3}", f"e{n}", right, judged=True, by="m") for n, right in enumerate(answers)]
    others = [RuleOpinion("rule 0", f"o{n}", right) for n, right in enumerate(people)]
    others.append(RuleOpinion("rule 0", "o", right=False, judged=True, by="n"))
    count, most = len(answers), max(answers.count(True), answers.count(False))
    silent = count >= ALIKE_FROM and most >= 0.95 * count
    assert heard([*said, *others]) == ([] if silent else said) + others


def test_alike_is_told_by_errors_and_not_by_findings() -> None:
    """Ten rules that see one error make no ten answers."""
    said = [RuleOpinion(f"rule {n}", f"e{n // 10}", right=False, judged=True, by="m") for n in range(ALIKE_FROM * 5)]
    assert heard(said) == said
