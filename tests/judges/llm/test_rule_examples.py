"""Each rule of the production criteria on both sides: where it is said, and what comes of an answer that keeps it."""

from __future__ import annotations

import pytest
from rule_examples import RuleExample, Side, examples, played

from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.prompt_rules import system_text
from tracejury.schemas.taxonomy import Severity

EXAMPLES = examples()
SET = load_set("production")
PROMPTS = {
    "run": system_text(SET.rules, [j for j in SET.judges if Stage.PLAN not in j.stages], Stage.CLOSING),
    "plan": system_text(SET.rules, [j for j in SET.judges if Stage.PLAN in j.stages], Stage.PLAN),
}
BOTH = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)


def purpose(example: RuleExample) -> str:
    """The prompt to which the judge of an example answers."""
    return "closing" if "run" in example.prompts else "plan"


def scores(example: RuleExample, side: Side) -> None:
    """The side's verdicts are as it says."""
    said = {v.judge: v for v in played(side, purpose(example)).said.verdicts}
    assert {judge: said[judge].score for judge in side.verdicts} == side.verdicts
    assert all(said[judge].not_applicable is (score is None) for judge, score in side.verdicts.items())


@BOTH
def test_a_rule_is_said_in_the_prompts_that_it_is_for(example: RuleExample) -> None:
    """In full, and in no other prompt."""
    for words in example.says:
        said = {name for name, text in PROMPTS.items() if " ".join(words.split()) in text}
        assert said >= set(example.prompts)
    assert any({n for n, text in PROMPTS.items() if w in text} == set(example.prompts) for w in example.says)


@BOTH
def test_a_breach_is_one_error_where_it_was_decided(example: RuleExample) -> None:
    """It passes parser, gate and grouping, shows in the balanced profile, and the record has what decides it."""
    came = played(example.wrong, purpose(example))
    assert [words for words in example.wrong.shows if words not in came.record] == []
    assert came.said.dropped == {}
    assert came.errors == [tuple(error) for error in example.wrong.errors] != []
    scores(example, example.wrong)


@BOTH
def test_the_other_side_shows_no_error(example: RuleExample) -> None:
    """Nothing is reported, or it is LOW and hidden, or the gate drops it; the record has what decides it."""
    came = played(example.right, purpose(example))
    assert [words for words in example.right.shows if words not in came.record] == []
    assert came.errors == []
    assert came.said.dropped == example.right.dropped
    assert len(came.said.findings) == len(example.right.answer) - sum(example.right.dropped.values())
    scores(example, example.right)


def test_each_shared_rule_has_an_example() -> None:
    """Of every principle, some words are those of an example; a rule that none needs is no rule."""
    said = [" ".join(words.split()) for example in EXAMPLES for words in example.says]
    assert [p.text for p in SET.rules.principles if not any(words in p.text for words in said)] == []
    assert any(words in SET.rules.verdict for words in said)


def test_each_judge_has_an_error_among_the_examples() -> None:
    """With every severity that shows."""
    errors = [error for example in EXAMPLES for error in example.wrong.errors]
    assert {error[1] for error in errors} == {judge.name for judge in SET.judges}
    assert {error[2] for error in errors} == {Severity.HIGH, Severity.MEDIUM}
