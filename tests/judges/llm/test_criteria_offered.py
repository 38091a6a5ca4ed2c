"""Judges of users' own: offered by packages, joined to a set."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tracejury.judges.llm.criteria import GROUP, Criteria, extended, load_judge, load_set, offered_judges
from tracejury.judges.llm.prompt_rules import criteria_text

GUIDE = Path(__file__).parents[3] / "docs" / "writing-a-judge.md"


def entry(name: str, value: str) -> EntryPoint:
    """What an installed package's metadata says."""
    return EntryPoint(name=name, value=value, group=GROUP)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The judge of docs/writing-a-judge.md as a file."""
    found = re.search(r"```yaml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    path = tmp_path / "refunds.yaml"
    path.write_text(found.group(1), "utf-8")
    return path


@pytest.fixture
def module(example: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module `acme_judges` that offers it in all ways, and what is no judge."""
    source = f"""\
from pathlib import Path
from tracejury.judges.llm.criteria import load_judge
TEXT = {str(example)!r}
PATH = Path(TEXT)
READY = load_judge(TEXT)
def made(): return READY
def path(): return PATH
def fails(): raise RuntimeError("out of\\norder")
NUMBER = 7
ABSENT = "/nowhere/judge.yaml"
"""
    (example.parent / "acme_judges.py").write_text(source, "utf-8")
    monkeypatch.syspath_prepend(str(example.parent))
    yield
    sys.modules.pop("acme_judges", None)


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("name", ["TEXT", "PATH", "READY", "made", "path"])
def test_the_guides_example_works(name: str, example: Path) -> None:
    """The judge of the guide loads from an entry point, as a path, ready-made, or from a function."""
    assert offered_judges([entry("refunds", f"acme_judges:{name}")]) == ((load_judge(example),), ())


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fails", "RuntimeError: out of order"),
        ("NUMBER", "TypeError: a judge is a Criteria object or the path of a YAML file"),
        ("ABSENT", "ConfigError: cannot read /nowhere/judge.yaml: No such file or directory"),
        ("missing", "AttributeError: "),
    ],
)
def test_a_broken_offer_is_reported_and_the_others_hold(name: str, why: str) -> None:
    """One line each; the collector goes on with the judges that loaded."""
    judges, broken = offered_judges([entry("broken", f"acme_judges:{name}"), entry("refunds", "acme_judges:READY")])
    assert [j.name for j in judges] == ["refund-policy"]
    assert [n for n, _ in broken] == ["broken"]
    assert broken[0][1].startswith(why)


@pytest.mark.usefixtures("module")
def test_of_two_offers_of_one_name_the_first_holds() -> None:
    """In the order of the entries' names, so that it does not depend on what was installed last."""
    judges, broken = offered_judges([entry("b", "acme_judges:made"), entry("a", "acme_judges:READY")])
    assert len(judges) == 1
    assert broken == (("b", "a judge named 'refund-policy' is there already"),)


def test_a_judge_joins_a_set(example: Path) -> None:
    """Behind the built-in ones, with the set's confidence, and with a version text of its own."""
    base = load_set("production")
    judge = load_judge(example)
    both, taken = extended(base, [judge])
    assert taken == ()
    assert both.judges == (*base.judges, judge)
    assert both.version_text("plan-quality") == base.version_text("plan-quality")
    assert both.version_text("refund-policy") != both.version_text("plan-quality")


def test_a_name_that_is_taken_does_not_join(example: Path) -> None:
    """Neither a built-in judge's nor one that has just joined."""
    base = load_set("production")
    mine = load_judge(example)
    same = Criteria.model_validate(base.judge("tool-calling").model_dump())
    both, taken = extended(base, [mine, same, mine])
    assert [j.name for j in both.judges[-2:]] == ["tool-calling", "refund-policy"]
    assert [n for n, _ in taken] == ["tool-calling", "refund-policy"]


def test_a_users_judge_is_told_like_the_others(example: Path) -> None:
    """Under its name, which is the code that answers use for it."""
    said = criteria_text(load_judge(example))
    assert said.startswith("## refund-policy\nRefunds follow")
    assert "- a refund above 500 without an approval before it (refund without approval)" in said
    assert "Not: whether the customer was right; refunds that a person made." in said
    assert said.endswith("0 several refunds against the policy")
