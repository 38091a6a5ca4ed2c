"""Rules switched off or lowered, by name or family, on all services or on some."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from small_traces import Said, run, trace

from tracejury.judges.records import FAMILY_NAMES
from tracejury.judges.registry import suite_of
from tracejury.judges.rule_settings import RuleSetting, RuleSettings
from tracejury.judges.suite import Suite
from tracejury.schemas.findings import Draft
from tracejury.schemas.taxonomy import Dimension, Severity

SHOP = "shop"
DRAFT = Draft("identical-call", "a1", "Resource Abuse", (Dimension.TOOL_CALLING,), Severity.LOW, 0.6, "x", "Why.")
OFF = RuleSetting("identical-call")
FAMILY = RuleSetting("identical-*", 0.3, frozenset({SHOP}))
LOW = RuleSetting("identical-call", 0.2)


class Raises:
    """A rule that nobody wants to hear of."""

    name, version = "raises", 1

    def detect(self, *_: object) -> list[Draft]:
        raise ValueError("broken")


def of(*settings: RuleSetting) -> RuleSettings:
    return RuleSettings(settings)


def test_a_rule_is_switched_off_by_name_or_family_and_only_where_it_is_said() -> None:
    assert not of(OFF).allows("identical-call", SHOP)
    assert of(OFF).allows("identical-step", SHOP)
    family = of(RuleSetting("identical-*", services=frozenset({SHOP})))
    assert "identical-*" in FAMILY_NAMES
    assert not family.allows("identical-step", SHOP)
    assert family.allows("identical-step", "bank")
    assert family.allows("identical", SHOP), "a family is a declared name, not a pattern"


@pytest.mark.parametrize(("service", "most"), [(SHOP, 0.2), ("bank", 0.2)])
def test_of_several_settings_the_strictest_counts_in_any_order(service: str, most: float) -> None:
    for order in permutations([FAMILY, LOW]):
        (lowered,) = of(*order).lowered([DRAFT], service)
        assert lowered == replace(DRAFT, confidence=most)
    for order in permutations([FAMILY, LOW, OFF]):
        assert not of(*order).allows("identical-call", service)


def test_a_setting_never_raises_a_confidence() -> None:
    assert of(RuleSetting("identical-call", 0.9)).lowered([DRAFT], SHOP) == [DRAFT]
    assert of(FAMILY).lowered([DRAFT], "bank") == [DRAFT]


def test_a_rule_that_is_switched_off_does_not_run() -> None:
    suite = Suite([Raises()], settings=of(RuleSetting("raises", services=frozenset({SHOP}))))
    said = trace(run("r1", Said("a1", "Hello.")))
    assert suite.judge(replace(said, service=SHOP)).failures == ()
    assert suite.judge(replace(said, service="bank")).failures


def test_each_setting_changes_the_suites_version_and_none_leaves_it() -> None:
    versions = {suite_of((), of(*found)).version for found in ((), (OFF,), (LOW,), (FAMILY,), (OFF, FAMILY))}
    assert len(versions) == 5
    assert suite_of((), of(OFF, FAMILY)).version == suite_of((), of(FAMILY, OFF)).version
    assert suite_of((), of()).version == suite_of(()).version
