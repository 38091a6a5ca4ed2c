"""The situations: 26 in nine combinations of axes, of which one is good."""

from __future__ import annotations

from tracejury.judges.situations.situation_types import all_situations, named_situations


def test_the_26_situations_have_nine_combinations_of_axes_and_one_is_good() -> None:
    named = named_situations()
    assert len(named) == len({situation.name for situation in named}) == 26
    assert len({situation.axes for situation in named}) == 9
    assert [situation.name for situation in named if situation.good] == ["correct"]
    assert [s.name for s in named if s.axes == ("satisfied", "tool-error", "appropriate")] == [
        "wrong-action-silent",
        "trusted-wrong-fact",
    ]


def test_each_bad_combination_has_one_answer_for_what_has_no_name() -> None:
    others = [s for s in all_situations().values() if s.name.startswith("other-")]
    assert len(all_situations()) == 34
    assert len(others) == len({other.axes for other in others}) == 8
    assert {other.axes for other in others} == {one.axes for one in named_situations() if not one.good}
