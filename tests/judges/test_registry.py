"""Which detectors there are: built in, and offered by installed packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from small_traces import Did, Said, run, trace

from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.registry import GROUP, default_suite, suite_of
from tracejury.schemas.taxonomy import Severity

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-detector.md"


def entry(name: str, value: str) -> EntryPoint:
    """What an installed package's metadata says."""
    return EntryPoint(name=name, value=value, group=GROUP)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module `acme_detectors` that can be imported: the guide's own example, and some broken ones."""
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found is not None
    path = tmp_path / "acme_detectors.py"
    broken = "class Nameless:\n    version = 1\n    def detect(self, trace, ctx):\n        return ()\n"
    taken = f"class Taken(UnapprovedRefund):\n    name = {BUILT_IN[0].name!r}\n"
    path.write_text(f"{found.group(1)}\n\n{broken}\n\n{taken}\n\nREADY = UnapprovedRefund()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield path
    sys.modules.pop("acme_detectors", None)


def refund(amount: int, *, approved: bool) -> Did:
    """A refund, in a trace of its own shape below."""
    return Did("refund", {"amount": amount, "approved": approved}, "ok", None, "t1")


@pytest.mark.parametrize("value", ["acme_detectors:UnapprovedRefund", "acme_detectors:READY"])
@pytest.mark.parametrize(("amount", "fires"), [(500, False), (501, True)])
@pytest.mark.usefixtures("module")
def test_the_guides_example_works(value: str, amount: int, *, fires: bool) -> None:
    """The detector of docs/writing-a-detector.md loads from an entry point, as a class or ready-made, and judges."""
    suite = suite_of([entry("acme", value)])
    result = suite.judge(trace(run("r1", Said("a1", "Refunding.", [refund(amount, approved=False)]))))
    mine = [f for f in result.findings if f.judge == "acme-unapproved-refund"]
    assert result.failures == ()
    assert [(f.span_id, f.severity, f.confidence, f.taxonomy) for f in mine] == (
        [("t1", Severity.HIGH, 0.95, "acme-policies")] if fires else []
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("acme_missing:Detector", "ModuleNotFoundError"),
        ("acme_detectors:Missing", "AttributeError"),
        ("acme_detectors:Nameless", "a detector has a name"),
        ("acme_detectors:Taken", "is there already"),
        ("acme_detectors:LIMIT", "TypeError"),
    ],
)
@pytest.mark.usefixtures("module")
def test_what_cannot_be_loaded_is_reported_and_costs_nothing(value: str, why: str) -> None:
    """The built-in detectors stand, and each judgement names the broken entry point with its reason."""
    suite = suite_of([entry("acme", value)])
    assert len(suite.detectors) == len(BUILT_IN)
    failures = suite.judge(trace(run("r1"))).failures
    assert [name for name, _ in failures] == ["acme"]
    assert why in failures[0][1]


def test_a_new_detector_changes_the_version(module: Path) -> None:
    """Stored traces are judged again when a detector is installed, and not when the order differs."""
    assert module.exists()
    with_it = suite_of([entry("acme", "acme_detectors:READY")])
    assert with_it.version != suite_of(()).version == suite_of([]).version


def test_the_default_suite_holds_the_built_in_detectors() -> None:
    """Nothing has to be installed besides the collector itself."""
    assert {d.name for d in BUILT_IN} <= {d.name for d in default_suite().detectors}
