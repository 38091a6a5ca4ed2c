"""The pack as its settings make it: what it asks, the errors that answers are, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from scope_sets import rubrics, scope_pack, set_file, set_of

from tracejury.collector.config import load_config
from tracejury.collector.judging.llm.build import check_judges
from tracejury.collector.judging.llm.packs.pack_panel import PackPanel
from tracejury.judges.packs.loader import load_packs
from tracejury.judges.packs.pack_types import Pack
from tracejury.judges.situations.situation_types import all_situations
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.taxonomy import Severity


def versions(pack: Pack) -> Mapping[str, str]:
    return PackPanel((pack,), {}, (), "scripted", {}, 4096).versions


def test_without_a_set_only_the_situation_is_asked() -> None:
    (pack,) = load_packs(["scope"])
    assert [check.name for check in pack.checks] == ["scope-situation"]
    (check,) = pack.checks
    assert list(check.answers) == [*all_situations()]
    assert {check.answers[0]} == {name for name, one in all_situations().items() if one.good}


def test_a_set_is_asked_about_at_the_close_and_bad_rubrics_live(tmp_path: Path) -> None:
    """Being live changes no version: the close asks the same again."""
    usual, live = scope_pack(tmp_path), scope_pack(tmp_path, live=True)
    assert [(c.measure, c.asks, len(c.criteria)) for c in usual.checks] == [
        ("P", True, 12), ("N", True, 12), ("G", False, 0), ("C", True, 0)
    ]  # fmt: skip
    assert [c.name for c in usual.checks if c.at_exchanges] == []
    assert [c.name for c in live.checks if c.at_exchanges] == ["scope-bad"]
    assert versions(usual) == versions(live)


def test_errors_have_the_rubrics_name_text_severity_and_the_strengths_confidence(tmp_path: Path) -> None:
    pack = scope_pack(tmp_path, set_of(bad=[9, 7, 6], make_or_break=1))
    bad = pack.check("scope-bad")
    told = {
        (n, p): bad.told(ItemAnswer(f"bad-{n}: It is bad in point {n}.", str(p), best=False))
        for n in range(3)
        for p in range(1, 11)
    }
    assert {n: told[n, 10] for n in range(3)} == {
        0: ("bad-0", Severity.HIGH, 0.5, "It is bad in point 0"),
        1: ("bad-1", Severity.MEDIUM, 0.5, "It is bad in point 1"),
        2: ("bad-2", Severity.LOW, 0.5, "It is bad in point 2"),
    }
    assert [told[0, p][2] for p in range(1, 11)] == [0.2] * 3 + [0.4] * 3 + [0.5] * 4
    situation = pack.check("scope-situation")
    for name, one in all_situations().items():
        category, severity, sure, _ = situation.told(ItemAnswer("", name, best=False))
        silent = name in {"bad-params-aware", "bad-input-data", "wrong-action-silent", "trusted-wrong-fact"}
        if not one.good:
            high = one.user == "satisfied"
            assert (category, severity is Severity.HIGH, sure) == (name, high, 0.2 if silent else 0.4)


def test_accepting_a_set_changes_no_version_and_any_other_edit_does(tmp_path: Path) -> None:
    """Of what depends on it: the situation is asked about without the set."""
    data = set_of(learned_from=[["chat", "c1"]], counts={"sessions": 1})
    first = versions(scope_pack(tmp_path, data))
    assert versions(scope_pack(tmp_path, data | {"accepted_by": "bob"})) == first
    one, *others = data["rubrics"]
    for edit in (
        {"rubrics": [one | {"weight": 3}, *others]},
        {"rubrics": [one | {"text": "Else."}, *others]},
        {"rubrics": [*others, one]},
        {"learned_from": [["chat", "c2"]]},
        {"counts": {"sessions": 2}},
    ):
        changed = versions(scope_pack(tmp_path, data | edit))
        assert differing(first, changed) == {"scope-good", "scope-bad", "scope-label"}
    assert differing(first, versions(scope_pack(tmp_path, data, veto=5))) == {"scope-label"}
    assert differing(first, versions(scope_pack(tmp_path, data, runs=3))) == {*first}
    early = scope_pack(tmp_path, data, early_stop=True)
    assert differing(first, versions(early)) == set()  # a question that is asked once is asked to the end
    (alone,) = load_packs(["scope"])
    assert versions(alone) == {"scope-situation": first["scope-situation"]}


def differing(first: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    return {name for name in first if first[name] != other[name]}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"accepted_by": ""}, "accepted_by: nobody has accepted this set: read its rubrics"),
        ({"rubrics": rubrics("good", [5])}, "rubrics: 0 have the label bad: a set has 1 to 12 of each"),
        ({"rubrics": rubrics("bad", [5] * 13)}, "rubrics: 0 have the label good"),
        ({"rubrics": [*rubrics("good", [5]), *rubrics("good", [5])]}, "rubrics: two have the name 'good-0'"),
        ({"rubrics": [*rubrics("good", [5]), *rubrics("bad", [11])]}, "10 (in 'bad-0')"),
        ({"rubrics": [*rubrics("good", [5]), rubrics("bad", [5])[0] | {"colour": 1}]}, "rubrics.1.colour: "),
        ({"rubrics": [*rubrics("good", [5], 1), *rubrics("bad", [5])]}, "'good-0' cannot be make-or-break: it is good"),
        ({"colour": 1}, "colour: there is no such key here"),
        ({"method": "spur"}, "cannot be make-or-break"),
    ],
)
def test_a_set_that_cannot_be_asked_about_is_one_line_with_file_and_key(
    tmp_path: Path, data: dict[str, Any], told: str
) -> None:
    """As `validate` and `serve` say it; the path is relative to the configuration file."""
    file = set_file(tmp_path, set_of() | data)
    (line,) = configured(tmp_path, {"rubrics": file.name}).splitlines()
    assert line.startswith(f"{file}: ")
    assert told in line


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"rubrics": "nowhere.yaml"}, "cannot read {folder}/nowhere.yaml: No such file or directory"),
        ({"veto": 3}, "judges.pack_settings.scope: rubrics: veto and live need the file of a set of rubrics"),
        ({"rubrics": "rubrics.yaml", "veto": 11}, "judges.pack_settings.scope: veto: "),
        ({"checks": ["scope-bad"]}, "judges.pack_settings.scope.checks: there is no check 'scope-bad'"),
        (
            {"rubrics": "rubrics.yaml", "checks": ["scope-label"]},
            "scope-label is a measure of scope-good: name it, too",
        ),
    ],
)
def test_settings_that_are_refused(tmp_path: Path, settings: dict[str, Any], told: str) -> None:
    set_file(tmp_path, set_of())
    (line,) = configured(tmp_path, settings).splitlines()
    assert told.format(folder=tmp_path) in line


def test_an_accepted_set_beside_the_configuration(tmp_path: Path) -> None:
    set_file(tmp_path, set_of())
    assert configured(tmp_path, {"rubrics": "rubrics.yaml", "veto": 5, "live": True}) == ""


def configured(folder: Path, settings: dict[str, Any]) -> str:
    """What is wrong with a configuration of the pack, "" for nothing."""
    file = folder / "config.yaml"
    judges = {"model": "openai/x", "packs": ["scope"], "pack_settings": {"scope": settings}}
    file.write_text(yaml.safe_dump({"judges": judges}), "utf-8")
    try:
        check_judges(load_config(file).judges)
    except ConfigError as error:
        return str(error)
    return ""
