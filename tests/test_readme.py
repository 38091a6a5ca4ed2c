"""Figures of the README that follow from other pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUIET_SECONDS = 5
"""After which a trace settles; catching up is measured without it."""


def test_spans_a_second_are_those_of_the_benchmarks() -> None:
    """Acknowledged and judged apart, as the first row of the table has them."""
    row = re.search(
        r"^\| gRPC, at most .*?([\d,]+) spans\) \| ([\d,]+) .*? \| (\d+) s \|", read("docs/benchmarks.md"), re.MULTILINE
    )
    assert row is not None
    spans, acknowledged, caught_up = (int(figure.replace(",", "")) for figure in row.groups())
    judged = spans / (spans / acknowledged + caught_up + QUIET_SECONDS)
    told = [
        int(figure.replace(",", ""))
        for line in ("acknowledged", "judged")
        for figure in re.findall(rf"^\| {line}.*about ([\d,]+) spans/s", read("README.md"), re.MULTILINE)
    ]
    assert told == [pytest.approx(acknowledged, rel=0.15), pytest.approx(judged, rel=0.15)]


def read(name: str) -> str:
    return (ROOT / name).read_text()
