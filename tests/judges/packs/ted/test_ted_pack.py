"""The pack as it is read, and settings that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tracejury.judges.packs.loader import load_packs
from tracejury.schemas.errors import ConfigError

(TED,) = load_packs(["ted"])


def test_what_its_checks_ask() -> None:
    notes, user = TED.check("ted-notes"), TED.check("ted-user")
    assert (notes.runs, notes.settles, notes.quoted, notes.dimension, notes.confidence) == (5, "best", False, None, 0.8)
    assert (user.validates, user.persona, user.reports, len(user.criteria)) == (True, True, False, 6)
    assert [check.measure for check in TED.checks if check.averaged] == ["Progress"]
    assert {check.name for check in TED.checks if check.at_exchanges} == {"ted-notes"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"runs": 4}, "judges.pack_settings.ted: runs: must be an odd number from 1 to 25"),
        ({"runs": 0}, "judges.pack_settings.ted: runs: must be an odd number from 1 to 25"),
        ({"checks": ["ted-auc"]}, "judges.pack_settings.ted.checks: ted-auc is a measure of ted-notes: name it, too"),
        ({"checks": ["ted-speed"]}, "judges.pack_settings.ted.checks: there is no check 'ted-speed'"),
        ({"mode": "alone"}, "judges.pack_settings.ted: mode"),
    ],
)
def test_what_settings_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_packs(["ted"], {"ted": settings})
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_settings_of_runs_and_mode() -> None:
    (pack,) = load_packs(["ted"], {"ted": {"runs": 3, "early_stop": True, "mode": "separate"}})
    assert [check.runs for check in pack.checks] == [3, 1, 1, 3]
    assert (pack.settings.mode, pack.settings.early_stop) == ("separate", True)
