"""Calibrated confidences: the table, what it sees, and how it is fitted."""

from __future__ import annotations

import random

import pytest
from faulty_traces import FAULTY
from ranker_fit import fit_logistic
from small_traces import Said, run, trace

from tracejury.judges.base import Context
from tracejury.judges.calibration import ECHO, ECHOES, WEIGHTS
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.features import family, features, places
from tracejury.judges.ranker import LogisticRanker
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Draft
from tracejury.schemas.taxonomy import Dimension, Severity

OWN = {
    "identical-call",
    "identical-step",
    "tests-claimed",
    "mistyped-argument",
    "not-found-error-page",
    "identical-failure",
    "entity-altered",
    "model-rate",
    "model-timeout",
    "model-auth",
    "model-limit",
    "model-service",
    "execution-failed",
    "execution-empty",
    "patch-not-applied",
    "edit-unchecked",
    "claimed-action",
    "unsupported-detail",
    "result-contradicted",
    "run-limit",
    "run-timeout",
    "run-cancelled",
    "run-crashed",
    "empty-answer",
    "unknown-tool",
    "malformed-arguments",
    "call-refused",
    "lost-result",
}
"""Built-in rules of which the annotated traces have no case: they keep their own confidence."""


def draft(judge: str, span_id: str = "a1", confidence: float = 0.5) -> Draft:
    """A draft of that rule."""
    return Draft(judge, span_id, "Goal Deviation", (Dimension.PLAN_ADHERENCE,), Severity.LOW, confidence, "x", "y.")


CONTEXT = Context(trace(run("r1", Said("a1", "x")), run("r2", Said("b1", "x"), role="sub-agent")))


def test_every_built_in_rule_has_a_family() -> None:
    """A new rule is either calibrated with a family or declared to keep its own confidence."""
    assert {r.name for r in BUILT_IN if not family(r.name)} == OWN
    assert not OWN & {r.name for r in BUILT_IN if family(r.name)}


def test_all_rules_at_a_span_share_one_estimate() -> None:
    """The estimate is for the span; an echo of a surer rule is lowered, alone it is not."""
    (echo,) = sorted(ECHOES)[:1]
    ranker = LogisticRanker()
    one, two, low = ranker.rank(CONTEXT, [draft("file-error-read"), draft("approach-switch"), draft(echo)])
    assert one.confidence == two.confidence
    assert low.confidence == pytest.approx(one.confidence * ECHO, abs=1e-4)
    (alone,) = ranker.rank(CONTEXT, [draft(echo)])
    assert alone.confidence == ranker.probability(features([echo], places(CONTEXT)["a1"]))


def test_a_users_rule_keeps_its_confidence_and_moves_nobodys() -> None:
    """What the calibration does not know is taken at its word, and is no evidence for other rules."""
    ranker = LogisticRanker()
    (alone,) = ranker.rank(CONTEXT, [draft("file-error-read")])
    theirs, ours = ranker.rank(CONTEXT, [draft("acme", confidence=0.93), draft("file-error-read")])
    assert theirs.confidence == 0.93
    assert ours == alone


def test_more_agreeing_rules_make_a_finding_surer() -> None:
    """Rules that point at the same error raise the estimate; a weaker sign does not pass a stronger one."""
    ranker = LogisticRanker()
    place = places(CONTEXT)["a1"]
    weak = ranker.probability(features(["ungrounded-turn"], place))
    more = ranker.probability(features(["ungrounded-turn", "ungrounded-recall"], place))
    most = ranker.probability(features(["ungrounded-turn", "ungrounded-recall", "ungrounded-simulation"], place))
    assert weak < more < most


def test_the_table_speaks_of_features_that_exist() -> None:
    """No weight is left over from a feature that nothing computes any more."""
    seen: set[str] = set()
    for name, whole in FAULTY.items():
        context = Context(whole)
        for where in (*places(context).values(), None):
            seen |= set(features([name], where))
    sub = places(CONTEXT)["b1"]
    for rules in (["plan-names-no-tool"], ["ungrounded-turn"], ["file-error"]):
        seen |= set(features(rules, sub))
    assert set(WEIGHTS) <= seen


def test_another_table_is_another_version() -> None:
    """Stored traces are judged again when the calibration changes."""
    assert LogisticRanker().version == LogisticRanker().version
    assert LogisticRanker({"read": 1.0}).version != LogisticRanker({"read": 1.1}).version
    assert LogisticRanker({"read": 1.0}, 0.1).version != LogisticRanker({"read": 1.0}, 0.2).version
    assert suite_of(()).version


def test_the_fit_recovers_what_made_the_data() -> None:
    """On data drawn from a known model the weights come back; the bias is not penalised."""
    chance = random.Random(7)  # noqa: S311 - reproducible test data, no secret
    rows, labels = [], []
    for _ in range(4000):
        row = {name: 1.0 for name in ("up", "down", "nothing") if chance.random() < 0.5}
        score = -0.5 + 1.5 * row.get("up", 0.0) - 1.0 * row.get("down", 0.0)
        rows.append(row)
        labels.append(chance.random() < 1 / (1 + 2.718281828**-score))
    weights, bias = fit_logistic(rows, labels, ridge=0.01)
    assert weights["up"] == pytest.approx(1.5, abs=0.25)
    assert weights["down"] == pytest.approx(-1.0, abs=0.25)
    assert weights["nothing"] == pytest.approx(0.0, abs=0.25)
    assert bias == pytest.approx(-0.5, abs=0.25)


def test_a_ridge_keeps_separable_data_finite_and_shrinks_rare_features() -> None:
    """A feature seen twice that is always right does not become certainty."""
    weights, bias = fit_logistic([{"rare": 1.0}, {"rare": 1.0}, {}, {}], [True, True, False, True], ridge=1.0)
    assert 0.0 < weights["rare"] < 2.0
    assert abs(bias) < 3.0


@pytest.mark.parametrize(("rows", "labels"), [([], []), ([{"a": 1.0}], []), ([{}], [True, False])])
def test_a_fit_needs_a_label_for_each_row(rows: list[dict[str, float]], labels: list[bool]) -> None:
    """Anything else is a mistake of the caller."""
    with pytest.raises(ValueError, match="as many labels as rows"):
        fit_logistic(rows, labels)
