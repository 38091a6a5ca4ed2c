"""Criteria as data: the built-in sets, and what is refused in a user's."""

from __future__ import annotations

import copy
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracejury.collector.judging.model.library import LIBRARY
from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.criteria import BUILT_IN, GPA_JUDGES, CriteriaSet, load_judge, load_set
from tracejury.judges.llm.prompt_rules import criteria_text, rules_text, system_text
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Dimension, Severity

FOLDER = Path(__file__).parents[3] / "judges" / "criteria"
GUIDE = Path(__file__).parents[3] / "docs" / "llm-judges.md"
JUDGE: dict[str, Any] = {
    "version": 1,
    "name": "refund-policy",
    "title": "Refund policy",
    "taxonomy": "acme",
    "categories": ["no approval"],
    "definition": "Refunds follow\n  the policy.",
    "in_scope": ["a refund without approval (no approval)"],
    "scale": {3: "all", 2: "most", 1: "some", 0: "none"},
}


@pytest.fixture(params=BUILT_IN)
def criteria(request: pytest.FixtureRequest) -> CriteriaSet:
    """Each built-in set."""
    return load_set(request.param)


def written(folder: Path, data: object, name: str = "judge.yaml") -> Path:
    """A YAML file of `data`."""
    path = folder / name
    path.write_text(yaml.safe_dump(data), "utf-8")
    return path


def changed(**changes: Any) -> dict[str, Any]:
    """The judge above with other values; None takes a key away."""
    return {k: v for k, v in (copy.deepcopy(JUDGE) | changes).items() if v is not None}


def test_a_built_in_set_has_the_seven_judges_in_order(criteria: CriteriaSet) -> None:
    """Each dimension has its judge, under the name that findings and verdicts carry."""
    assert [(j.dimension, j.name) for j in criteria.judges] == list(GPA_JUDGES.items())
    assert list(GPA_JUDGES) == list(Dimension)


def test_together_the_judges_may_use_every_category(criteria: CriteriaSet) -> None:
    """Each leaf of TRAIL is some judge's, verbatim, so that no annotated kind of error is beyond reach."""
    assert {c for j in criteria.judges for c in j.categories} == set(TRAIL_CATEGORIES)


def test_the_scope_only_assigns_categories_that_its_judge_has(criteria: CriteriaSet) -> None:
    """A category named behind an item of the scope would be refused in an answer if the judge did not have it."""
    for judge in criteria.judges:
        named = {
            c for item in judge.in_scope for c in TRAIL_CATEGORIES if re.search(rf"[(,:;] ?{re.escape(c)}\b", item)
        }
        assert named <= set(judge.categories), judge.name


def test_each_category_is_told_to_its_judge(criteria: CriteriaSet) -> None:
    """Those that the scope does not mention are listed."""
    for judge in criteria.judges:
        said = criteria_text(judge)
        assert [c for c in judge.categories if c not in said] == []
        assert all(judge.scale[score] in said for score in (0, 1, 2, 3))


def test_who_is_asked_when() -> None:
    """Plans by plan quality alone; the goal at the end, of sub-agents, too; adherence only where there is a plan."""
    judges = {j.code: j for j in load_set("production").judges}
    assert [c for c, j in judges.items() if j.stages == (Stage.PLAN,)] == ["PQ"]
    assert [c for c, j in judges.items() if j.stages == (Stage.CLOSING,)] == ["GF"]
    assert [c for c, j in judges.items() if j.runs != "all"] == []
    assert [c for c, j in judges.items() if j.needs == "plan"] == ["PA"]
    assert load_set("paper").judge("goal-fulfilment").runs == "manager"


def test_low_findings_are_hidden_by_the_balanced_profile_in_production_only() -> None:
    """They are stored either way; MEDIUM ones show in both sets."""
    balanced = PROFILES["balanced"]
    for name, hidden in (("production", True), ("paper", False)):
        criteria = load_set(name)
        for judge in criteria.judges:
            assert (criteria.confidence(judge.name, Severity.LOW) < balanced) is hidden
            assert criteria.confidence(judge.name, Severity.MEDIUM) >= balanced
            assert criteria.confidence(judge.name, Severity.HIGH) > criteria.confidence(judge.name, Severity.MEDIUM)


@pytest.mark.parametrize(
    ("said", "stages"),
    [
        ("stop sequences", "plan run"),
        ("what it would have caught", "run"),
        ("carried out to the letter", "plan"),
        ("a required part of the result is wrong or missing", "plan"),
        ("put the result at risk", "run"),
        ("proves nothing", "plan run"),
        ("quote both sides", "plan run"),
        ("go to `also_at`", "run"),
        ("bring nothing, at the last", "run"),
        ("environment's fault", "run"),
        ("Judge a run by its own steps alone", "run"),
        ("new evidence ignored", "run"),
        ("Scores weigh what was due", "run"),
    ],
)
def test_production_rules_stand_in_the_prompts_they_are_for(said: str, stages: str) -> None:
    """Rules on a whole run cost nothing in the prompt of a single plan."""
    rules = load_set("production").rules
    assert (said in rules_text(rules, Stage.CLOSING)) is ("run" in stages)
    assert (said in rules_text(rules, Stage.PLAN)) is ("plan" in stages)


def tokens_of(name: str) -> tuple[int, int, int]:
    """Of the system messages of a manager's closing pass, a sub-agent's, and a plan."""
    if find_spec("litellm") is None:
        pytest.skip("tokens are counted by litellm")
    litellm = LIBRARY.module  # imported with the collector's settings, which other tests of this process rely on
    criteria = load_set(name)
    manager = system_text(criteria.rules, [j for j in criteria.judges if j.code != "PQ"], Stage.CLOSING)
    others = [j for j in criteria.judges if j.code != "PQ" and j.runs != "manager"]
    sub_agent = system_text(criteria.rules, others, Stage.CLOSING)
    plan = system_text(criteria.rules, [criteria.judge("plan-quality")], Stage.PLAN)
    one, two, three = (litellm.token_counter(model="gpt-4o", text=t) for t in (manager, sub_agent, plan))
    return one, two, three


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_system_message_is_small(name: str) -> None:
    """Every word is sent with every call. The paper's have anchors, procedures and examples as the publication's do."""
    manager, sub_agent, plan = tokens_of(name)
    most = {"production": (2_450, 800), "paper": (4_000, 1_400)}[name]
    assert sub_agent <= manager <= most[0]
    assert plan <= most[1]


def test_each_of_the_papers_judges_has_what_the_publication_gives_it() -> None:
    """A procedure, a description of every score, a form for its reasons, and examples; a plan is no whole run."""
    criteria = load_set("paper")
    assert len(criteria.judges) == len(Dimension)
    for judge in criteria.judges:
        told = criteria_text(judge)
        assert all(f"\n{number}. {step}" in told for number, step in enumerate(judge.procedure, 1))
        assert all(f"\n{score}: {text}" in told for score, text in judge.scale.items())
        assert judge.procedure
        assert judge.reasons in told
        assert 2 <= told.count("\nExample: ") <= 5
    plan = system_text(criteria.rules, [criteria.judge("plan-quality")], Stage.PLAN)
    assert "whole run" not in plan
    finds = (
        "Find the plan: a part labelled as the plan; else what the thinking, or a passage that plans, sets out; else a"
    )
    assert all(finds in criteria_text(criteria.judge(name)) for name in ("plan-quality", "plan-adherence"))


def test_the_guide_tells_what_the_system_message_costs() -> None:
    """Its figures are within five percent of what is counted."""
    rows = re.findall(
        r"^\| (?:closing pass|a plan)[^|]*\| ([\d,]+) \| ([\d,]+) \|$", GUIDE.read_text("utf-8"), re.MULTILINE
    )
    told = [[int(figure.replace(",", "")) for figure in row] for row in rows]
    counted = [list(row) for row in zip(tokens_of("production"), tokens_of("paper"), strict=True)]
    assert told == [pytest.approx(row, rel=0.05) for row in counted]


def test_texts_stand_on_one_line(tmp_path: Path) -> None:
    """However they are folded in the file: a prompt has no stray lines."""
    assert load_judge(written(tmp_path, JUDGE)).definition == "Refunds follow the policy."


def test_a_users_judge_has_its_name_for_a_code(tmp_path: Path) -> None:
    """It has no dimension and a taxonomy of its own, and is asked in windows and at the end unless it says else."""
    judge = load_judge(written(tmp_path, JUDGE))
    assert (judge.code, judge.dimension, judge.taxonomy) == ("refund-policy", None, "acme")
    assert (judge.runs, judge.stages, judge.needs) == ("all", (Stage.WINDOW, Stage.CLOSING), None)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (changed(colour="red"), "colour: there is no such key here"),
        (changed(version=None), "version: this key is missing"),
        (changed(scales={}, scale=None), "scales: there is no such key here; scale: this key is missing"),
        (changed(version=0), "version: "),
        (changed(version="one"), "version: "),
        (changed(name="Refund Policy"), "name: "),
        (changed(name="plan-quality"), "name: 'plan-quality' is a built-in judge: choose another name"),
        (changed(dimension="PQ"), "dimension PQ belongs to the judge 'plan-quality'"),
        (changed(dimension="XX"), "dimension: "),
        (changed(categories=[]), "categories: "),
        (changed(categories=["a", "a"]), "categories: one stands there twice"),
        (changed(taxonomy=None), "categories: not of the taxonomy 'trail': no approval"),
        (changed(definition=" "), "definition: "),
        (changed(definition=7), "definition: "),
        (changed(in_scope=None), "in_scope: this key is missing"),
        (changed(in_scope="all"), "in_scope: "),
        (changed(scale={3: "all", 0: "none"}), "scale: say what each of 0, 1, 2 and 3 means"),
        (changed(scale={4: "more"}), "scale."),
        (changed(stages=["plan", "closing"]), "stages: plan stands alone"),
        (changed(stages=["never"]), "stages."),
        (changed(stages=[]), "stages: "),
        (changed(runs="some"), "runs: "),
        (changed(needs="luck"), "needs: "),
        (changed(confidence={"HIGH": 0.9}), "confidence: give a number from 0 to 1 for each"),
        (changed(confidence={"HIGH": 2, "MEDIUM": 0.5, "LOW": 0.1}), "confidence.HIGH: "),
        (changed(confidence={"HIGH": float("nan"), "MEDIUM": 0.5, "LOW": 0.1}), "confidence.HIGH: "),
        (changed(examples=[{"step": "x"}]), "examples.0.finding: this key is missing"),
        (["a", "list"], "must be"),
        (None, "must be"),
    ],
)
def test_a_wrong_judge_is_refused_in_one_line(tmp_path: Path, data: object, why: str) -> None:
    """With the file, the key, and what is wrong."""
    path = written(tmp_path, data)
    with pytest.raises(ConfigError) as refused:
        load_judge(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xff\xfe", "cannot read"),
        (b"a: [", "is not YAML"),
        (b"!!python/object/apply:os.system ['true']", "is not YAML"),
        (b"[" * 100_000, "is not YAML"),
        (b"#" * 300_000, "too large"),
    ],
)
def test_a_file_that_holds_no_data_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    """Not text, not YAML, YAML that would run code, nested without end, or too large: one line each."""
    path = tmp_path / "judge.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=why) as refused:
        load_judge(path)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """The line names it."""
    with pytest.raises(ConfigError, match=r"cannot read .*absent\.yaml: No such file"):
        load_judge(tmp_path / "absent.yaml")


def test_a_copied_set_loads_from_its_folder(tmp_path: Path) -> None:
    """A set of one's own starts as a copy: same judges, same texts, named by the folder."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for file in (FOLDER / "production").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    mine, built_in = load_set(str(folder)), load_set("production")
    assert mine.name == "mine"
    assert mine.judges == built_in.judges
    assert mine.version_text("plan-quality") == built_in.version_text("plan-quality")


def test_what_is_no_set_is_refused(tmp_path: Path) -> None:
    """An unknown name, a folder without rules, one without judges, two judges of one name."""
    with pytest.raises(ConfigError, match="no criteria set 'strange': use production, paper, or a folder"):
        load_set("strange")
    with pytest.raises(ConfigError, match=r"needs a file _set\.yaml"):
        load_set(str(tmp_path))
    (tmp_path / "_set.yaml").write_bytes((FOLDER / "paper" / "_set.yaml").read_bytes())
    with pytest.raises(ConfigError, match="needs at least one judge"):
        load_set(str(tmp_path))
    written(tmp_path, JUDGE, "one.yaml")
    written(tmp_path, JUDGE, "two.yml")
    with pytest.raises(ConfigError, match="two judges are named 'refund-policy'"):
        load_set(str(tmp_path))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"mood": "good"}, "mood: there is no such key"),
        ({"principles": []}, "principles: "),
        ({"principles": [{"text": "x", "stage": ["plan"]}]}, "principles.0.stage: there is no such key"),
        ({"severities": {"HIGH": "x"}}, "severities: say what each of LOW, MEDIUM and HIGH means"),
        ({"plan_severities": {"HIGH": "x"}}, "plan_severities: say what each of LOW, MEDIUM and HIGH means"),
        ({"confidence": {"HIGH": 1, "MEDIUM": 1}}, "confidence: give a number"),
    ],
)
def test_wrong_rules_are_refused_in_one_line(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    """As a judge's file."""
    data = yaml.safe_load((FOLDER / "paper" / "_set.yaml").read_text("utf-8")) | changes
    written(tmp_path, data, "_set.yaml")
    written(tmp_path, JUDGE)
    with pytest.raises(ConfigError) as refused:
        load_set(str(tmp_path))
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
