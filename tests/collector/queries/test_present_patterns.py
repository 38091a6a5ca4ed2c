"""The sentence of a pattern, from what the rules say of its examples."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Did, Said, run, tool, trace

from tracejury.collector.queries.present_patterns import told
from tracejury.judges.grouping import group
from tracejury.judges.registry import suite_of
from tracejury.schemas.agent_errors import ErrorSummary, summary
from tracejury.schemas.queries.patterns import PatternRow, Since
from tracejury.schemas.rates import Estimate, Population
from tracejury.schemas.taxonomy import Severity

ROW = PatternRow(
    id="p", service="support", state="new", severity=Severity.MEDIUM, hits=41, units=1000,
    population=Population.DETECTORS, share=Estimate(0.041, 0.03, 0.055), before=None, p_value=1.0, quiet=0,
    needed=None, since=Since("2.3.0", 0, "2.3.0", "2.3.0"), series=(), versions=("2.3.0",), agents=("clerk",),
    tools=("get_order",), last_seen=1,
)  # fmt: skip
HOSTILE = "x', so this call <b>\x1b[2J{0}"


def called(arguments: dict[str, object], error: str, *needed: str, **types: str) -> ErrorSummary:
    """The error of a call with these arguments, as our rules tell it, of a tool that needs and has these."""
    given = [tool("get_order", needed, **types)]
    did = Did("get_order", arguments, None, error, "t1")
    whole = trace(run("r1", Said("a1", "", [did], tools=given), Said("z1", "No.", sees=[error]), tools=given))
    errors = group(suite_of(()).judge(whole).findings, [one.id for one in whole.runs])
    return next(summary(error) for error in errors if error.lead.judge.startswith("schema-violation"))


@pytest.mark.parametrize(
    ("example", "sentence"),
    [
        (
            called({}, "TypeError: missing 1 required positional argument", "order_id", order_id="string"),
            "get_order is called without 'order_id' in 4.1 % of runs of support since 2.3.0",
        ),
        (
            called({"verbose": True}, "ValueError: no", order_id="string"),
            "get_order is called with 'verbose', which it does not take, in 4.1 % of runs of support since 2.3.0",
        ),
        (
            called({"order_id": 3}, "TypeError: missing 1 required positional argument", "order_id", order_id="string"),
            "get_order is called with another type for 'order_id' in 4.1 % of runs of support since 2.3.0",
        ),
        # Where the error alone says that something is missing, no schema names it.
        (
            called({}, "TypeError: missing 1 required positional argument", order_id="string"),
            "get_order: Argument missing in 4.1 % of runs of support since 2.3.0",
        ),
        # A name that templates do not keep may be another in each error.
        (
            called({}, "TypeError: missing 1 required positional argument", "line2", line2="string"),
            "get_order: Argument missing in 4.1 % of runs of support since 2.3.0",
        ),
        (
            called({}, "TypeError: missing 1 required positional argument", HOSTILE, **{HOSTILE: "string"}),
            "get_order: Argument missing in 4.1 % of runs of support since 2.3.0",
        ),
    ],
)
def test_the_sentence_names_the_argument_where_a_rule_does(example: ErrorSummary, sentence: str) -> None:
    """As the schema of the tool has it."""
    assert told(replace(ROW, examples=(example,))) == sentence


def test_only_what_rules_say_of_all_examples_is_told() -> None:
    """Not what a model says, nor what one example says alone; nor without a tool."""
    one = called({}, "TypeError: missing 1 required positional argument", "order_id", order_id="string")
    other = called({}, "TypeError: missing 1 required positional argument", "shop", shop="string")
    plain = "get_order: Argument missing in"
    assert told(replace(ROW, examples=(one, one))).startswith("get_order is called without 'order_id' in")
    assert told(replace(ROW, examples=(one, other))).startswith(plain)
    assert told(replace(ROW, examples=(replace(one, judge="tool-calling"),))).startswith(plain)
    assert told(replace(ROW, examples=(one,), tools=())).startswith("clerk: Argument missing in")
    assert told(replace(ROW, examples=())).startswith("get_order in 4.1 %")
