"""Cases of rules: each error once for each rule that saw it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from small_traces import TRACE_ID, Did, Said, run, trace

from tracejury.judges.measures.rule_cases import RuleCase, cases, rule_cases
from tracejury.judges.measures.rule_records import RuleRecord, rule_records
from tracejury.judges.measures.step_figures import LabelledTrace
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import TRAIL, Severity

REPEATS = 8
TRACE = trace(
    run("r", *(Said(f"llm{n}", did=[Did("read", {"path": "a"}, error="none", span_id=f"tool{n}")]) for n in range(9))),
    run("s", Said("other"), name="writer", parent_id="r"),
)


def a_finding(span_id: str, judge: str = "file-error", confidence: float = 0.6, **other: Any) -> Finding:
    """In the turn of its span, in the first run unless told otherwise."""
    whole: dict[str, Any] = {"agent_run_id": "r", "turn": int(span_id[-1]) if span_id[-1].isdigit() else 0, **other}
    return Finding(
        id=f"{judge} {span_id}", fingerprint="", tenant="", trace_id=TRACE_ID, span_id=span_id, judge=judge,
        taxonomy=TRAIL, category="Resource Not Found", severity=Severity.LOW, confidence=confidence,
        evidence="none", explanation="", dimensions=(), **whole,
    )  # fmt: skip


LAST = f"llm{REPEATS - 1}"
REPEATED = [
    a_finding("llm0", also_at=tuple(f"llm{n}" for n in range(1, REPEATS))),
    *(a_finding(f"llm{n}") for n in range(1, REPEATS)),
]
"""One mistake that the rule reports at each of eight steps."""


def record_of(*labelled: str) -> RuleRecord:
    found = rule_cases(TRACE, REPEATED)
    return rule_records({"set": [(LabelledTrace("t", errors=labelled), found)]})["file-error"]["set"]


def test_a_mistake_that_a_rule_repeats_is_one_case() -> None:
    """Right if any of its findings stands at a labelled step, however many do."""
    right, wrong = RuleRecord(1, 1, 1, frozenset({"agent"})), RuleRecord(1, 0, 0, frozenset({"agent"}))
    assert record_of("llm0") == record_of(LAST) == record_of("llm0", LAST) == right
    assert record_of("other") == wrong


def test_each_rule_has_its_own_case_of_an_error_and_each_error_is_one() -> None:
    """With the spans and agents of its own findings; outside any run there is no agent."""
    read = a_finding("llm1", "file-error-read", seen_by_span_id="llm1", tool_span_id="tool0")
    made = a_finding("llm0", tool_span_id="tool0")
    apart = a_finding("other", agent_run_id="s")
    outside = a_finding("llm8", agent_run_id="", turn=None)
    found = rule_cases(TRACE, [read, made, apart, outside])
    names = frozenset({"agent"})
    assert set(found) == {
        RuleCase(TRACE_ID, "file-error", frozenset({"llm0"}), frozenset({"llm0", "tool0"}), names),
        RuleCase(TRACE_ID, "file-error-read", frozenset({"llm1"}), frozenset({"llm1", "tool0"}), names),
        RuleCase(TRACE_ID, "file-error", frozenset({"other"}), frozenset({"other"}), frozenset({"writer"})),
        RuleCase(TRACE_ID, "file-error", frozenset({"llm8"}), frozenset({"llm8"}), frozenset()),
    }


def test_cases_depend_neither_on_confidence_nor_on_order() -> None:
    """A record gives the confidence, so it must not follow from it."""
    first, second = (a_finding(f"llm{n}", also_at=("llm5",)) for n in (0, 2))
    place = a_finding("llm5")

    def told(*findings: Finding) -> set[frozenset[str]]:
        return {frozenset(f.id for f in found) for found in cases(findings, ())}

    want = told(first, second, place)
    for doubted in (0.1, 0.9):
        changed = a_finding("llm2", also_at=("llm5",), confidence=doubted)
        for order in permutations([first, changed, place]):
            assert told(*order) == want
