"""Packs and task cards of the configuration: checked before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tracejury.collector.config import load_config
from tracejury.collector.judging.llm.build import check_judges, packs_from, panel_from
from tracejury.schemas.errors import ConfigError


def checked(folder: Path, **judges: Any) -> None:
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"judges": judges}), "utf-8")
    check_judges(load_config(file).judges)


def test_packs_and_task_cards_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "cards.yaml").write_text("[{id: 1, policies: [Ask first.]}]", "utf-8")
    settings = {"pipa": {"unit": "response", "services": {"*": {"policies": ["Be brief."]}}}}
    checked(tmp_path, model="openai/x", packs=["pipa"], pack_settings=settings, tasks=[str(tmp_path / "cards.yaml")])


def test_checks_that_ask_no_model_need_none(tmp_path: Path) -> None:
    checked(tmp_path, packs=["rut"], pack_settings={"rut": {"checks": ["rut-oracle"]}})
    checked(tmp_path, packs=["pipa"], pack_settings={"pipa": {"checks": ["pipa-tools", "pipa-completion"]}})


@pytest.mark.parametrize(
    ("judges", "told"),
    [
        (
            {"packs": ["pipa"]},
            "name under judges.pack_settings.pipa.checks those that do not: pipa-tools, pipa-completion",
        ),
        (
            {"packs": ["rut"], "pack_settings": {"rut": {"checks": ["rut"]}}},
            "there is no check 'rut': use rut-oracle, ",
        ),
        ({"model": "openai/x", "packs": ["pip"]}, "judges.packs: there is no pack 'pip': use pipa"),
        ({"model": "openai/x", "pack_settings": {"pipa": {"x": 1}}, "packs": ["pipa"]}, "judges.pack_settings.pipa: x"),
        ({"model": "openai/x", "pack_settings": {"pipa": 1}}, "judges.pack_settings.pipa: "),
        ({"model": "openai/x", "tasks": ["/nowhere.yaml"]}, "cannot read /nowhere.yaml: No such file or directory"),
        ({"model": "openai/x", "task_key": []}, "judges.task_key: "),
        ({"model": "openai/x", "session_quiet_seconds": 0}, "judges.session_quiet_seconds: "),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, judges: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked(tmp_path, **judges)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_check_may_not_have_the_name_of_a_judge_of_the_set(tmp_path: Path) -> None:
    judge = yaml.safe_load((Path(__file__).parents[4] / "judges/criteria/production/goal-fulfilment.yaml").read_text())
    judge |= {"name": "pipa-state", "taxonomy": "mine"}
    del judge["dimension"]
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump(judge), "utf-8")
    with pytest.raises(ConfigError, match="the check 'pipa-state' of pipa is the name of a judge"):
        checked(tmp_path, model="openai/x", packs=["pipa"], judge_files=[str(tmp_path / "judge.yaml")])


def test_packs_are_had_in_the_order_of_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("judges: {model: openai/x, packs: [pipa]}", "utf-8")
    config = load_config(file).judges
    assert [pack.name for pack in packs_from(config, panel_from(config)[0])] == ["pipa"]
