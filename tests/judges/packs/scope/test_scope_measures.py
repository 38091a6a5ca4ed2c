"""P, N and G of a session by the strengths of a set's rubrics: by hand, and what must hold of any strengths."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scope_sets import scope_pack, set_of

from tracejury.judges.checks.verdict import verdict_of
from tracejury.judges.packs.loader import load_packs
from tracejury.judges.packs.pack_types import Pack
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

ALL_GOOD = {f"good-{n}": 10 for n in range(12)}


def verdicts(pack: Pack, strengths: Mapping[str, int], ungrounded: Collection[str] = ()) -> dict[str, Verdict]:
    """By measure; rubrics without a strength have 0, and no quote of those that are `ungrounded` stands."""
    answers: dict[str, list[ItemAnswer]] = {}
    found = {}
    for check in pack.checks:
        for name, text in check.criteria_texts().items():
            said = strengths.get(name, 0)
            one = ItemAnswer(f"{name}: {text}", str(said), best=not said, grounded=name not in ungrounded)
            answers.setdefault(check.name, []).append(one)
        given = [[one for name in check.of or (check.name,) for one in answers.get(name, [])]]
        subject = Subject(SubjectKind.SESSION, "s", "")
        found[check.measure] = verdict_of(check, "v", pack.formulas[check.name], subject, given)
    return found


@pytest.mark.parametrize(
    ("data", "strengths", "veto", "averages", "good"),
    [
        ({}, {"bad-0": 10}, 0, "good 0.00, bad 8.33", 0),
        ({"good": [7] * 3 + [8] * 2}, {f"good-{n}": 10 for n in range(5)} | {"bad-0": 10}, 0, "good 7.40, bad 8.33", 0),
        ({"good": [7] * 3 + [8] * 2}, {f"good-{n}": 10 for n in range(5)} | {"bad-0": 5}, 0, "good 7.40, bad 4.17", 1),
        ({"good": [7] * 3 + [8] * 2}, {f"good-{n}": 10 for n in range(5)} | {"bad-0": 5}, 5, "good 7.40, bad 4.17", 0),
        ({"good": [10] * 12, "bad": [1] * 10}, ALL_GOOD | {"bad-0": 10}, 0, "good 10.00, bad 10.00", 0),
        ({"good": [10] * 12, "bad": [1] * 9}, ALL_GOOD | {"bad-0": 10}, 0, "good 10.00, bad 11.11", 0),
        ({}, {}, 0, "good 0.00, bad 0.00", 0),
    ],
)
def test_sessions_by_hand(
    tmp_path: Path, data: dict[str, Any], strengths: dict[str, int], veto: int, averages: str, good: int
) -> None:
    found = verdicts(scope_pack(tmp_path, set_of(**data), veto=veto), strengths)["G"]
    assert found.value == good
    told = [f"averages: {averages}"]
    if veto:
        told.append("good by these, bad by the veto of bad-0")
    if not any(name.startswith("bad") for name in strengths):
        told.append("no bad rubric is proven")
    assert found.reasons == "; ".join(told)


def test_the_shares_of_both_kinds_by_hand(tmp_path: Path) -> None:
    """Make-or-break rubrics count with 100; what no quote proves is 0, and `raw` as it was said."""
    pack = scope_pack(tmp_path, set_of(good=[2, 8], bad=[4, 6], make_or_break=1))
    found = verdicts(pack, {"good-0": 5, "bad-0": 5, "bad-1": 10}, ungrounded={"bad-0"})
    assert found["P"].value == pytest.approx(0.1)
    assert (found["N"].value, found["N"].raw) == pytest.approx((100 / 106, 50 / 106))
    assert (found["G"].value, found["G"].raw) == (0, 0)
    assert found["G"].reasons == "averages: good 0.50, bad 3.00; 1 ungrounded"
    alone = verdicts(pack, {"bad-0": 10}, ungrounded={"bad-0", "bad-1"})
    assert (alone["N"].value, alone["N"].raw) == pytest.approx((1, 6 / 106))
    assert alone["G"].reasons == "averages: good 0.00, bad 0.00; no bad rubric is proven; 2 ungrounded"


def test_a_set_of_spur_by_hand(tmp_path: Path) -> None:
    """Sums of impacts without weights or veto: 7 + 5 against 12 is no excess."""
    data = set_of([1, 9, 5], [3, 5], make_or_break=0, method="spur")
    pack = scope_pack(tmp_path, data, veto=1)
    found = verdicts(pack, {"good-0": 7, "good-1": 5, "bad-0": 10, "bad-1": 2})
    assert [found[letter].value for letter in "PNG"] == pytest.approx([12 / 30, 8 / 20, 0])
    assert found["G"].reasons == "sums: good 12.00, bad 12.00"
    assert verdicts(pack, {"good-0": 7, "good-1": 6, "bad-0": 10, "bad-1": 2})["G"].value == 1


def test_without_answers_nothing_is_measured(tmp_path: Path) -> None:
    pack = scope_pack(tmp_path)
    for name in ("scope-good", "scope-bad", "scope-label", "scope-situation"):
        assert pack.formulas[name]([()]).value is None
    (bare,) = load_packs(["scope"])
    assert bare.formulas["scope-situation"]([[ItemAnswer("s", "correct", best=True)]]).value == 1
    assert bare.formulas["scope-situation"]([[ItemAnswer("s", "trace-leak", best=False)]]).value == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_holds_of_any_session(tmp_path: Path, data: st.DataObject) -> None:
    """With veto 1 each session with a proven make-or-break rubric is bad; what no quote proves counts as nothing."""
    pack = scope_pack(tmp_path, set_of([3, 7, 10], [1, 5, 10], make_or_break=2), veto=1)
    names = [f"{label}-{n}" for label in ("good", "bad") for n in range(3)]
    strengths = {name: data.draw(st.integers(0, 10)) for name in names}
    ungrounded = {n for n in names if n.startswith("bad") and strengths[n] and data.draw(st.booleans())}
    found = verdicts(pack, strengths, ungrounded)
    if any(strengths[name] for name in {"bad-0", "bad-1"} - ungrounded):
        assert found["G"].value == 0
    proven = verdicts(pack, {name: 0 if name in ungrounded else p for name, p in strengths.items()})
    assert {k: v.value for k, v in found.items()} == {k: v.value for k, v in proven.items()}
    assert {k: v.raw for k, v in found.items()} == {k: v.value for k, v in verdicts(pack, strengths).items()}
