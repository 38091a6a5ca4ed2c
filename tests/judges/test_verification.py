"""What a second look does to a finding."""

from __future__ import annotations

import pytest
from store_parts import a_finding

from tracejury.judges.grouping import group
from tracejury.judges.verification import confidence_after, kept, verified
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.findings import Verification
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.taxonomy import Severity


@pytest.mark.parametrize(
    ("verification", "before", "after"),
    [
        (Verification.NONE, 0.9, 0.9),
        (Verification.UNVERIFIED, 0.9, 0.9),
        (Verification.VERIFIED, 0.9, 0.95),
        (Verification.VERIFIED, 0.2, 0.6),
        (Verification.VERIFIED, 1.0, 1.0),
        (Verification.REFUTED, 0.97, 0.2),
        (Verification.REFUTED, 0.1, 0.1),
    ],
)
def test_confidence(verification: Verification, before: float, after: float) -> None:
    """Each outcome moves it in its own direction."""
    assert confidence_after(before, verification) == pytest.approx(after)


def test_a_refuted_finding_leaves_balanced() -> None:
    """However sure it was."""
    assert confidence_after(1.0, Verification.REFUTED) < PROFILES["balanced"]


def test_a_finding_made_again_keeps_what_was_said_of_it() -> None:
    """Its confidence follows from its new one, not from the stored one: nothing adds up."""
    found = a_finding(confidence=0.8)
    stored = verified(found, Verification.REFUTED, "goal-fulfilment", "the call was sound")
    again = kept(found, stored)
    assert again == stored
    assert kept(again, stored) == stored
    assert kept(a_finding(confidence=0.1), stored).confidence == 0.1


def test_a_new_answer_replaces_the_old_one() -> None:
    """And a finding that nobody was asked about stays as it is."""
    found = a_finding(confidence=0.8)
    old, new = verified(found, Verification.REFUTED), verified(found, Verification.VERIFIED)
    assert kept(new, old) == new
    assert kept(found, None) == found
    assert kept(found, found) == found


def test_an_error_with_a_refuted_and_a_standing_finding_is_led_by_the_standing_one() -> None:
    """Its confidence and severity are those of what stands; where all are refuted it leaves balanced."""
    high = a_finding(confidence=0.9, severity=Severity.HIGH)
    medium = a_finding(evidence="again, again", confidence=0.5, severity=Severity.MEDIUM)
    refuted = verified(high, Verification.REFUTED, "m", "the step was asked for")
    (before,), (after,) = group([high, medium], ["run-1"]), group([refuted, medium], ["run-1"])
    balanced = PROFILES["balanced"]
    assert (before.lead, before.severity(balanced)) == (high, Severity.HIGH)
    assert (after.lead, after.severity(balanced), after.confidence()) == (medium, Severity.MEDIUM, 0.5)
    assert after.findings == (medium, refuted)
    assert summary(after).verification is Verification.NONE
    (gone,) = group([refuted], ["run-1"])
    assert PROFILES["recall"] < gone.confidence() < balanced
    assert summary(gone).verification_reason == "the step was asked for"
