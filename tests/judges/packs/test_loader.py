"""Packs by name: the built-in ones, those of packages, and what is refused in one line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracejury.judges.checks.how_asked import check_version
from tracejury.judges.packs import sources
from tracejury.judges.packs.loader import BUILT_IN, GROUP, known_packs, load_packs, user_labels
from tracejury.judges.packs.pack_types import Pack
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import ConfigError

CHECK: dict[str, Any] = {
    "name": "acme-tone",
    "measure": "T",
    "title": "Tone",
    "definition": "Kind answers of all answers.",
    "subject": "exchange",
    "items": "answers",
    "question": "Is the answer kind?",
    "best": "It is.",
    "category": "rude answer",
    "explain": "An answer that a customer would call rude.",
}
PACK: dict[str, Any] = {"version": 1, "name": "acme", "title": "Acme", "description": "Tone.", "checks": [CHECK]}
GUIDE = Path(__file__).parents[3] / "docs" / "packs.md"
FORMULA = "from tracejury.judges.checks.formula import Ratio\nFORMULAS = {'acme-tone': lambda e: Ratio(1, 2)}\n"
Offer = Callable[..., list[EntryPoint]]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Offer]:
    """A package with a pack, offered as an installed one would."""
    package = f"acme_pack_{abs(hash(request.node.name))}"
    folder = tmp_path / package
    monkeypatch.syspath_prepend(str(tmp_path))

    def offered(data: object = PACK, measures: str = FORMULA, name: str = "acme", **modules: str) -> list[EntryPoint]:
        folder.mkdir()
        for module, code in modules.items():
            (folder / f"{module}.py").write_text(code, "utf-8")
        (folder / "__init__.py").touch()
        (folder / "measures.py").write_text(measures, "utf-8")
        text = data if isinstance(data, str) else yaml.safe_dump(data)
        (folder / "pack.yaml").write_text(text, "utf-8")
        return [EntryPoint(name, package, GROUP)]

    yield offered
    for module in [m for m in sys.modules if m.startswith(package)]:
        del sys.modules[module]


MEASURE = {"name": "acme-m", "measure": "M", "title": "M", "definition": "M.", "subject": "session", "explain": "M."}
POLICY = {**CHECK, "name": "acme-p", "measure": "P", "subject": "session", "items": "policies"}


def refusal(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_packs(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


SCALE = "must be a number from 1 to 100, a list of 2 to 20 names, or a mapping of 2 to 40 answers"


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_pack_loads(name: str) -> None:
    (pack,) = load_packs([name])
    assert pack.name == name
    assert {check.name for check in pack.checks} == set(pack.formulas)


def test_pipa_has_five_measures_in_the_order_of_the_paper() -> None:
    (pipa,) = load_packs(["pipa"])
    assert [(c.measure, c.name, c.subject, c.asks) for c in pipa.checks] == [
        ("S", "pipa-state", "exchange", True),
        ("A", "pipa-tools", "exchange", False),
        ("O", "pipa-observation", "exchange", True),
        ("P", "pipa-policy", "session", True),
        ("R", "pipa-completion", "session", False),
    ]


def test_a_variant_changes_its_check_and_its_version() -> None:
    (usual,), (changed,) = load_packs(["pipa"]), load_packs(["pipa"], {"pipa": {"unit": "response"}})
    assert usual.check("pipa-observation").items is sources.OBSERVATIONS
    assert changed.check("pipa-observation").items is sources.ANSWERS
    assert _version(usual, "pipa-observation") != _version(changed, "pipa-observation")
    assert _version(usual, "pipa-state") == _version(changed, "pipa-state")


def test_a_text_for_people_makes_no_new_version(offer: Offer) -> None:
    (acme,) = load_packs(["acme"], offered=offer())
    reworded = replace(acme, checks=(acme.checks[0].model_copy(update={"explain": "Else."}),), definitions={"a": "b"})
    assert _version(acme, "acme-tone") == _version(reworded, "acme-tone")
    assert _version(acme, "acme-tone") != _version(replace(acme, version=2), "acme-tone")


def test_settings_of_services() -> None:
    services = {"shop": {"policies": ["Ask first."]}, "*": {"done": {"attribute": "done", "equals": 1}}}
    (pipa,) = load_packs(["pipa"], {"pipa": {"services": services}})
    shop, other = pipa.settings.terms("shop"), pipa.settings.terms("bank")
    assert shop is not None
    assert other is not None
    assert (shop.policies, shop.done) == (("Ask first.",), None)
    assert other.done is not None


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"pipa": {"unit": "word"}}, "judges.pack_settings.pipa: unit: must be 'observation' or 'response'"),
        ({"pipa": {"units": 1}}, "judges.pack_settings.pipa: units: there is no such key here"),
        ({"pipa": {"mode": "one"}}, "judges.pack_settings.pipa: mode: must be 'together' or 'separate'"),
        (
            {"pipa": {"services": {"a": {"rules": []}}}},
            "judges.pack_settings.pipa: services.a.rules: there is no such key here",
        ),
        ({"pippa": {}}, "judges.pack_settings: there is no pack 'pippa': use pipa, rut, scope, ted"),
    ],
)
def test_settings_that_no_pack_has(settings: dict[str, Any], told: str) -> None:
    assert refusal(["pipa"], settings, offered=[]) == told


def test_an_unknown_pack_lists_those_there_are(offer: Offer) -> None:
    assert refusal(["pip"], offered=offer()) == "judges.packs: there is no pack 'pip': use acme, pipa, rut, scope, ted"


SETTINGS = """
from dataclasses import replace
from typing import Literal
from tracejury.judges.packs.pack_types import PackSettings

class Settings(PackSettings):
    strict: bool = False

def configured(made, settings):
    {body}
"""


def test_a_pack_has_settings_of_its_own(offer: Offer) -> None:
    """What they make of its checks; without any, `measures` and `explain` know the checks of pack.yaml."""
    body = 'return replace(made, notes={"acme-tone": "strict"} if settings.strict else {})'
    offered = offer(settings=SETTINGS.replace("{body}", body))
    usual, strict = (load_packs(["acme"], {"acme": {"strict": s}}, offered=offered)[0] for s in (False, True))
    assert _version(usual, "acme-tone") != _version(strict, "acme-tone")
    assert "acme" in {pack.name for pack in known_packs(offered)[0]}
    told = "judges.pack_settings.acme: strikt: there is no such key here"
    assert refusal(["acme"], {"acme": {"strikt": 1}}, offered=offered) == told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise OSError('rubrics.yaml is gone')", "judges.pack_settings.acme: OSError: rubrics.yaml is gone"),
        ("return replace(made, formulas={})", "judges.pack_settings.acme: 'acme-tone' has no formula, or is no check"),
        ("return replace(made, checks=made.checks * 2)", "checks: two have the name 'acme-tone'"),
    ],
)
def test_what_settings_of_a_pack_cannot_make(offer: Offer, body: str, told: str) -> None:
    assert told in refusal(["acme"], offered=offer(settings=SETTINGS.replace("{body}", body)))


SOURCES = """
from tracejury.judges.checks.item_source import Items, ItemSource
from tracejury.schemas.checks import CheckItem

SOURCES = (ItemSource("{name}", "no jokes", lambda case: Items((CheckItem("a joke"),))),)
"""


def test_a_pack_brings_a_source_of_items(offer: Offer) -> None:
    check = {**CHECK, "items": "jokes"}
    offered = offer(PACK | {"checks": [check]}, sources=SOURCES.replace("{name}", "jokes"))
    (acme,) = load_packs(["acme"], offered=offered)
    assert acme.check("acme-tone").items.nothing == "no jokes"


def test_a_pack_brings_a_scale(offer: Offer) -> None:
    code = SOURCES.replace("{name}", "jokes") + "SCALES = {'mirth': {'0': 'none', '1': 'some'}}\n"
    (acme,) = load_packs(["acme"], offered=offer(PACK | {"checks": [{**CHECK, "scale": "mirth"}]}, sources=code))
    assert acme.check("acme-tone").answers == ("0", "1")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("states", "judges.packs: the pack acme brings a source 'states', which there is already"),
        ("oracle", "judges.packs: acme and rut both bring the source 'oracle'"),
    ],
)
def test_a_source_has_one_owner(offer: Offer, name: str, told: str) -> None:
    assert refusal(["rut", "acme"], offered=offer(sources=SOURCES.replace("{name}", name))) == told


def test_runs_and_policies_at_exchanges_are_settings_of_any_pack() -> None:
    """Structure answers once; neither makes another version of a check that stays as it was."""
    usual, more = (load_packs(["pipa"], {"pipa": s})[0] for s in ({}, {"runs": 3, "policies_at": "exchange"}))
    assert [check.runs for check in more.checks] == [3, 1, 3, 3, 1]
    assert more.check("pipa-policy").settles == "worst"
    same = [_version(usual, check.name) == _version(more, check.name) for check in usual.checks]
    assert same == [False, True, False, False, True]
    at_exchanges = load_packs(["pipa"], {"pipa": {"policies_at": "exchange"}})[0]
    assert _version(usual, "pipa-policy") == _version(at_exchanges, "pipa-policy")
    assert "judges.pack_settings.pipa: runs: " in refusal(["pipa"], {"pipa": {"runs": 2}})


def test_a_measure_needs_the_checks_that_it_is_of(offer: Offer) -> None:
    measures = FORMULA + "FORMULAS['acme-m'] = FORMULAS['acme-tone']\n"
    offered = offer(PACK | {"checks": [CHECK, {**MEASURE, "of": ["acme-tone"]}]}, measures)
    (acme,) = load_packs(["acme"], offered=offered)
    assert acme.check("acme-m").asks is False
    told = "judges.pack_settings.acme.checks: acme-m is a measure of acme-tone: name it, too"
    assert refusal(["acme"], {"acme": {"checks": ["acme-m"]}}, offered=offered) == told


def test_a_package_offers_a_pack(offer: Offer) -> None:
    (acme, pipa) = load_packs(["acme", "pipa", "acme"], offered=offer())
    assert (acme.name, pipa.name) == ("acme", "pipa")
    assert acme.formulas["acme-tone"]([]).value == 0.5
    assert (acme.labels, acme.figures) == ({}, None)


def test_a_package_may_label_users_and_have_figures_of_its_own(offer: Offer) -> None:
    said = "LABELS = {'acme-tone': lambda answers: ('goal-switching',)}\nFIGURES = dict\n"
    ((acme, *built_in), _) = known_packs(offer(measures=FORMULA + said))
    assert acme.labels["acme-tone"]([]) == ("goal-switching",)
    assert acme.figures is not None
    assert list(acme.figures({"group": {}})) == ["group"]
    assert set(user_labels()) == {name for pack in built_in for name in pack.labels} == {"rut-behaviour"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"colour": 1}, "pack.yaml: colour: there is no such key here"),
        ({"version": None}, "pack.yaml: version: must be a whole number"),
        ({"checks": []}, "pack.yaml: checks: "),
        ({"checks": [CHECK, CHECK]}, "pack.yaml: checks: two have the name 'acme-tone'"),
        ({"checks": [CHECK, {**CHECK, "name": "acme-b"}]}, "pack.yaml: checks: two have the measure 'T'"),
        ({"checks": [{**CHECK, "scale": ["a", "a"]}]}, "pack.yaml: checks.0: scale: one answer stands there twice"),
        ({"checks": [{**CHECK, "scale": 0}]}, f"pack.yaml: checks.0.scale: {SCALE}"),
        ({"checks": [{**CHECK, "scale": "yes"}]}, f"pack.yaml: checks.0.scale: {SCALE}"),
        ({"checks": [{**CHECK, "scale": ["a"]}]}, f"pack.yaml: checks.0.scale: {SCALE}"),
        ({"checks": [{**CHECK, "colour": 1}]}, "pack.yaml: checks.0.colour: there is no such key here"),
        ({"checks": [{**CHECK, "question": None}]}, "pack.yaml: checks.0: question and best: "),
        ({"checks": [{**CHECK, "items": "moods"}]}, "pack.yaml: checks.0.items: no source 'moods': use one of answers"),
        ({"checks": [{**CHECK, "items": "findings"}]}, "pack.yaml: checks.0.items: no source 'findings'"),
        ({"checks": [{**CHECK, "subject": "agent-run"}]}, "checks: 'acme-tone' must ask of an exchange or a session"),
        ({"name": "acne"}, "pack.yaml: name: must be 'acme'"),
        ({"checks": [{**CHECK, "runs": 4}]}, "pack.yaml: checks.0.runs: must be an odd number from 1 to 25"),
        (
            {"checks": [{**CHECK, "settles": "best"}]},
            "pack.yaml: checks.0: settles: only items of a session that a model",
        ),
        (
            {"checks": [{**CHECK, "shows": ["mood"]}]},
            "checks: acme-tone: shows: no key 'mood': use instruction, policies",
        ),
        ({"checks": [CHECK, {**MEASURE, "of": ["acme-x"]}]}, "checks: acme-m: of: there is no check 'acme-x'"),
        (
            {"checks": [CHECK, {**MEASURE, "of": ["acme-m"]}]},
            "checks: acme-m: of: 'acme-m' is a measure of checks itself",
        ),
        ({"checks": [CHECK, POLICY, {**MEASURE, "of": ["acme-tone", "acme-p"]}]}, "cannot be mixed"),
        (
            {"checks": [CHECK, {**MEASURE, "of": ["acme-tone"], "items": "answers"}]},
            "checks.1: items: say where they are from, or `of`",
        ),
        ({"success": "Q"}, "success: there is no measure 'Q': use one of T"),
        ({"variants": {}}, "pack.yaml: variants: there is no such key here"),
    ],
)
def test_what_is_wrong_in_a_pack_is_one_line(offer: Offer, changes: dict[str, Any], told: str) -> None:
    refused = refusal(["acme"], offered=offer(PACK | changes))
    assert told in refused
    assert "at least 1 item" not in refused or changes == {"checks": []}


@pytest.mark.parametrize(
    ("measures", "told"),
    [
        ("FORMULAS = {}", "measures.py: FORMULAS: 'acme-tone' has no formula"),
        (FORMULA + "FORMULAS['x'] = 1", "measures.py: FORMULAS: 'x' is no check of pack.yaml"),
        (FORMULA + "LABELS = {'x': 1}", "measures.py: LABELS: 'x' is no check of exchanges of pack.yaml"),
        ("", "judges.packs: the pack acme cannot be loaded: AttributeError"),
        ("raise RuntimeError('out of\\norder')", "cannot be loaded: RuntimeError: out of order"),
    ],
)
def test_what_is_wrong_in_its_code_is_one_line(offer: Offer, measures: str, told: str) -> None:
    assert told in refusal(["acme"], offered=offer(measures=measures))


def test_a_package_that_is_not_there() -> None:
    told = refusal(["gone"], offered=[EntryPoint("gone", "nowhere_at_all", GROUP)])
    assert told.startswith("judges.packs: the pack gone cannot be loaded: ModuleNotFoundError")


def test_a_broken_file_of_a_package(offer: Offer) -> None:
    assert "pack.yaml is not YAML: " in refusal(["acme"], offered=offer("[a"))


def test_the_pack_of_the_guide_works(offer: Offer) -> None:
    text, measures = (
        re.search(rf"`{name}`:\n\n```\w+\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
        for name in (r"pack\.yaml", r"measures\.py")
    )
    assert text is not None
    assert measures is not None
    (acme,) = load_packs(["acme"], offered=offer(text[1], measures[1]))
    answers = [ItemAnswer("hello", "yes", best=True), ItemAnswer("go away", "no", best=False)]
    assert acme.formulas["acme-tone"]([answers]).value == 0.5


def test_a_check_has_no_name_of_a_judge() -> None:
    taken = "judges.packs: the check 'pipa-state' of pipa is the name of a judge"
    assert refusal(["pipa"], judges=["pipa-state"]) == taken


def test_a_check_has_the_name_of_its_pack_before_its_own(offer: Offer) -> None:
    """So that a finding tells by itself that a pack made it."""
    other = offer(PACK | {"checks": [{**CHECK, "name": "pipa-tools"}]}, FORMULA.replace("acme-tone", "pipa-tools"))
    assert "pack.yaml: checks: 'pipa-tools' must begin with 'acme-'" in refusal(["acme"], offered=other)


def test_the_name_of_a_pack_has_no_hyphen(offer: Offer) -> None:
    other = offer(PACK | {"name": "acme-shop"}, name="acme-shop")
    assert "pack.yaml: name: 'acme-shop' must have no hyphen" in refusal(["acme-shop"], offered=other)


def test_no_package_replaces_a_built_in_pack() -> None:
    (pipa,) = load_packs(["pipa"], offered=[EntryPoint("pipa", "nowhere_at_all", GROUP)])
    assert pipa.title == "PIPA"


def test_all_packs_there_are_and_those_that_are_broken(offer: Offer) -> None:
    gone = EntryPoint("gone", "nowhere_at_all", GROUP)
    packs, broken = known_packs([*offer(), gone])
    assert [pack.name for pack in packs] == ["acme", "pipa", "rut", "scope", "ted"]
    assert [name for name, _ in broken] == ["gone"]


def _version(pack: Pack, check: str) -> str:
    return check_version(pack.check(check), pack.version_text(check), "scripted", {})
