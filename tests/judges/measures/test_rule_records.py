"""Records of rules by data set, and with each data set left out."""

from __future__ import annotations

from tracejury.judges.measures.rule_cases import RuleCase
from tracejury.judges.measures.rule_records import RuleRecord, leave_one_out, rule_records
from tracejury.judges.measures.step_figures import LabelledTrace


def case(at: str, *others: str, agent: str = "agent", judge: str = "rule") -> RuleCase:
    """A case with a finding at one span that names the others, too."""
    return RuleCase("t", judge, frozenset({at}), frozenset({at, *others}), frozenset({agent} - {""}))


FAILED = LabelledTrace("t", errors=("a", "b"))
HEALTHY = LabelledTrace("u", error_free=True)

RECORDS = rule_records(
    {
        "one": [
            (FAILED, [case("a", agent="x"), case("z", "b", agent="y"), case("a", judge="other", agent="")]),
            (HEALTHY, [case("a", agent="x")]),
        ],
        "two": [(FAILED, [case("b", agent="x")])],
        "three": [(FAILED, [case("z", agent="w")])],
        "silent": [(FAILED, [])],
    }
)


def test_a_case_is_right_on_a_labelled_span() -> None:
    """By where its findings stand or by what they name; cases in error-free traces are wrong; agents count once."""
    assert RECORDS["rule"]["one"] == RuleRecord(3, 1, 2, frozenset({"x", "y"}))
    assert RECORDS["other"] == {"one": RuleRecord(1, 1, 1)}


def test_a_rule_has_no_record_where_it_did_not_fire() -> None:
    assert list(RECORDS["rule"]) == ["one", "three", "two"]


def test_leaving_one_out_sums_the_others() -> None:
    """Agents of one name in two data sets are one; a data set in which the rule is silent leaves all."""
    left = leave_one_out(RECORDS, ["one", "two", "three", "silent"])["rule"]
    assert left["one"] == RuleRecord(2, 1, 1, frozenset({"x", "w"}))
    assert left["two"] == RuleRecord(4, 1, 2, frozenset({"x", "y", "w"}))
    assert left["silent"] == RuleRecord(5, 2, 3, frozenset({"x", "y", "w"}))


def test_a_rule_that_only_one_data_set_knows_has_nothing_elsewhere() -> None:
    assert leave_one_out(RECORDS, ["one", "two"])["other"]["one"] == RuleRecord()


def test_data_sets_with_runs_in_common_are_left_out_together() -> None:
    left = leave_one_out(RECORDS, ["one", "two", "three"], [frozenset({"one", "two"})])["rule"]
    assert left["one"] == left["two"] == RECORDS["rule"]["three"]
    assert left["three"] == RECORDS["rule"]["one"] + RECORDS["rule"]["two"]


def test_order_changes_nothing() -> None:
    again = rule_records({"b": [(FAILED, [case("a"), case("z")])], "a": [(FAILED, [case("a")])]})
    assert again == rule_records({"a": [(FAILED, [case("a")])], "b": [(FAILED, [case("z"), case("a")])]})
