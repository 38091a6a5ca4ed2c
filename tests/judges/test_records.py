"""Confidences from records: what supports a rule, what a rule without support may claim, and that the file is true."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_traces import Said, run, trace

from tracejury.judges.base import Context
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.records import (
    COUNTED,
    FAMILIES,
    Record,
    RecordedConfidence,
    confidence_of,
    family,
    is_supported,
    records,
)
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Draft
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Dimension, Severity

SHARED = Path(__file__).parents[3] / "shared" / "data"
CONTEXT = Context(trace(run("r1", Said("a1", "text"))))
BALANCED = threshold("balanced")
DECLARED = {d.name: d.confidence for d in BUILT_IN if hasattr(d, "confidence")}


def draft(judge: str, confidence: float = 0.5) -> Draft:
    return Draft(
        judge, "a1", "Language-only", (Dimension.LOGICAL_CONSISTENCY,), Severity.LOW, confidence, "text", "why"
    )


@pytest.mark.parametrize(
    ("record", "supported"),
    [
        ({}, False),
        ({"gaia-dev": Record(40, 40, 5)}, False),
        ({"gaia-dev": Record(40, 40, 1), "agentrx-tau": Record(2, 5, 1)}, True),
        ({"gaia-dev": Record(40, 40, 1), "agentrx-tau": Record(1, 1, 1)}, False),
        ({"gaia-dev": Record(40, 40, 1), "agentrx-tau": Record(0, 50, 1)}, False),
        ({"injected": Record(24, 24, 24)}, True),
        ({"injected": Record(24, 24, 1)}, False),
        ({"injected": Record(4, 5, 2)}, True),
        ({"injected": Record(3, 4, 2)}, False),
        ({"captures": Record(1, 1, 1), "injected": Record(1, 1, 2)}, True),
        ({"captures": Record(0, 9, 9), "injected": Record(9, 9, 9)}, False),
    ],
)
def test_support(record: dict[str, Record], *, supported: bool) -> None:
    """Two labelled data sets, or built-in faults in several agents; what one data set says is a guess."""
    assert is_supported(record) is supported
    assert (confidence_of(record) >= BALANCED) <= supported


def test_a_data_set_counts_once_and_the_next_agent_too() -> None:
    """A thousand injected faults say no more of labels than ten do; nothing is certain."""
    assert confidence_of({"injected": Record(98, 98, 9)}) == pytest.approx((0.99 + 0.5) / 2)
    few, many = ({"injected": Record(n, n, 9), "gaia-dev": Record(0, 8, 1)} for n in (98, 99_998))
    assert confidence_of(many) - confidence_of(few) < 0.01
    assert confidence_of(many) == pytest.approx((1.0 + 0.1 + 0.5) / 3, abs=0.001)


def test_no_rule_that_one_data_set_supports_is_balanced() -> None:
    found = suite_of(()).detectors
    sure = RecordedConfidence(DECLARED).rank(CONTEXT, [draft(d.name, DECLARED[d.name]) for d in found])
    balanced = {d.judge for d in sure if d.confidence >= BALANCED}
    supported = COUNTED | {n for n in DECLARED if is_supported(records().get(family(n), {}))}
    assert balanced == {n for n in supported if DECLARED[n] >= BALANCED}
    assert {"identical-cycle", "call-limit", "runaway"} <= balanced
    assert {"schema-violation", "run-limit", "execution-failed", "ungrounded-turn", "intent-without-call"} <= balanced
    assert not {"approach-switch", "early-finish", "fabrication-wording", "plan-names-no-tool"} & balanced


def test_kinds_of_one_rule_share_a_record() -> None:
    """What failed names the error; how sure it is does not hang on the name."""
    names = {form.format(kind) for form, kinds in FAMILIES for kind in kinds.split("|")}
    assert names <= {d.name for d in BUILT_IN}
    assert family("rate-error") == family("file-error") == "*-error"
    assert len({family("no-result-error"), family("rate-error"), family("rate-error-read")}) == 3
    assert records()["*-error"]["gaia-dev"].claims > records()["schema-violation-read"]["gaia-dev"].claims


def test_a_candidate_and_a_doubted_finding_stay_as_unsure_as_they_are() -> None:
    ranker = RecordedConfidence({"schema-violation": 0.5, "candidate": 0.3})
    usual, doubted, candidate = ranker.rank(
        CONTEXT, [draft("schema-violation"), draft("schema-violation", 0.1), draft("candidate", 0.3)]
    )
    assert usual.confidence == confidence_of(records()["schema-violation"]) > BALANCED
    assert (doubted.confidence, candidate.confidence <= 0.3) == (0.1, True)


def test_a_users_rule_keeps_its_confidence() -> None:
    mine = draft("acme", 0.93)
    assert RecordedConfidence(DECLARED).rank(CONTEXT, [mine]) == [mine]


def test_other_records_are_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored traces are judged again when a record changes a confidence."""
    before = RecordedConfidence(DECLARED).version
    assert RecordedConfidence(DECLARED).version == before
    changed = dict(records()) | {"schema-violation": {"injected": Record(1, 2, 2)}}
    monkeypatch.setattr("tracejury.judges.records.records", lambda: changed)
    assert RecordedConfidence(DECLARED).version != before


@pytest.mark.trail
@pytest.mark.timeout(300)
@pytest.mark.skipif(not SHARED.exists(), reason="the shared data sets are not on this machine")
def test_the_file_is_what_is_measured() -> None:
    from rule_evidence import measured, written

    root = Path(__file__).parents[2]
    assert written(measured()) == (root / "judges" / "records.toml").read_text("utf-8"), (
        "make it anew: python tests/support/rule_evidence.py > judges/records.toml"
    )


def test_without_its_own_labels_a_data_set_is_judged_alike() -> None:
    """Leaving a labelled data set out in turn moves no rule between profiles: its labels do not decide on it."""
    for left_out in ({"gaia-dev"}, {"agentrx-magentic"}, {"agentrx-tau", "tau-ok"}):
        for rule, record in records().items():
            rest = {name: one for name, one in record.items() if name not in left_out}
            assert is_supported(rest) == is_supported(record), (rule, left_out)
