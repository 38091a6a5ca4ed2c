"""Ordinary traffic is clean: nobody is blamed for what agents do every day."""

from __future__ import annotations

import pytest
from healthy_traces import HEALTHY, RETRIED

from tracejury.judges.grouping import group
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

SUITE = suite_of(())


def shown(whole: Trace, profile: str = "balanced") -> list[Finding]:
    """What a profile shows of a trace."""
    result = SUITE.judge(whole)
    assert (result.failures, result.dropped) == ((), 0)
    return [f for f in result.findings if f.confidence >= threshold(profile)]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_traffic_is_clean(name: str) -> None:
    """Nothing is shown in balanced."""
    assert [(f.judge, f.span_id, f.confidence) for f in shown(HEALTHY[name])] == []


def test_healthy_traffic_is_nearly_clean_even_for_those_who_look_through_everything() -> None:
    """At the recall level at most one finding in five runs, none of them severe."""
    found = [(name, f.judge, f.severity) for name, whole in HEALTHY.items() for f in shown(whole, "recall")]
    assert len(found) <= 0.2 * len(HEALTHY), found
    assert not [f for f in found if f[2] is Severity.HIGH]


@pytest.mark.parametrize("error", RETRIED)
def test_a_retry_that_works_is_hardly_worth_a_word(error: str) -> None:
    """At most one error, and not a severe one."""
    found = group(shown(RETRIED[error]), [run.id for run in RETRIED[error].runs])
    assert len(found) <= 1, [(e.lead.judge, e.lead.span_id) for e in found]
    assert not [e for e in found if e.severity() is Severity.HIGH]
