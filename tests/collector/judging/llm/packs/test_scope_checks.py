"""SCOPE over the real store: one call at the close, errors at their steps, live judging, and what hostile words do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pack_bench import Called, FairChecker, Fault, PackBench, exchange
from scope_sets import set_file, set_of

from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.grouping import standing_errors
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.spans import Span
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import Outcome

MAIL = Called("send_mail", '{"to": "bo@x.org"}', "queued: the server is down", thought="I send it.")
LAMP = Called("look_up", '{"id": 7}', "7 lamps")
SET = set_of([5, 8], [9, 6], make_or_break=1)


def session() -> list[list[Span]]:
    return [
        exchange("a", "Is there a lamp?", [LAMP], "Yes, 7 lamps."),
        exchange("b", "Mail that to Bo.", [MAIL], "The mail is sent.", at=60),
    ]


def bad(number: int, strength: int, quote: str, label: str = "") -> Fault:
    return Fault("scope-bad", f"bad-{number}", quote, "It says so.", label, str(strength))


def good(number: int, strength: int) -> Fault:
    return Fault("scope-good", f"good-{number}", "", answer=str(strength))


def situation(name: str, quote: str, label: str = "") -> Fault:
    return Fault("scope-situation", "The session", quote, "user satisfied; tools tool-error", label, name)


def bench(
    store: SharedStore, folder: Path, faults: Sequence[Fault] = (), data: dict[str, Any] | None = None, **settings: Any
) -> PackBench:
    chosen = {"rubrics": str(set_file(folder, data or SET))} | settings
    return PackBench(store, FairChecker(faults), config={"packs": ("scope",), "pack_settings": {"scope": chosen}})


def errors(bench: PackBench, *traces: str) -> dict[str, AgentError]:
    """The errors of these traces that hold, by the span where they were made."""
    return {e.lead.span_id.lstrip("0"): e for name in traces for e in standing_errors(bench.findings(name), ())}


def test_a_session_is_judged_by_one_call_at_its_close(store: SharedStore, tmp_path: Path) -> None:
    """Each planted error stands at its span; what one turn has is one error, led by the surest, then the gravest."""
    faults = (
        good(1, 5),
        bad(0, 3, "The mail is sent.", "E2.S3"),
        bad(1, 7, "queued: the server is down"),
        situation("propagated-error", "queued: the server is down"),
    )
    one = bench(store, tmp_path, faults)
    one.hold_session(*session())
    assert len(one.checker.prompts) == 1
    verdicts = one.session()
    values = {v.judge.partition("-")[2]: v.value for v in verdicts.values()}
    assert values == {
        "good": pytest.approx(4 / 13), "bad": pytest.approx(1 - (30 + 4.2) / 106), "label": 0, "situation": 0
    }  # fmt: skip
    assert verdicts["scope-label"].reasons == "of scope-good, scope-bad; averages: good 2.00, bad 17.10"
    found = errors(one, "a", "b")
    assert {span: [f.category for f in error.findings] for span, error in found.items()} == {
        "bc0": ["bad-1", "propagated-error"],
        "bb1": ["bad-0"],
    }
    lead, beside = found["bc0"].findings
    assert (lead.title, lead.severity, lead.confidence) == ("It is bad in point 1", Severity.LOW, 0.5)
    assert (beside.severity, beside.confidence) == (Severity.HIGH, 0.4)
    assert (found["bb1"].lead.severity, found["bb1"].lead.confidence) == (Severity.HIGH, 0.2)
    assert {f.judge for f in one.findings("a", "b")} == {"scope-bad", "scope-situation"}


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_session_whose_model_gave_no_usable_answer_is_judged_on_request(
    store: SharedStore, tmp_path: Path, *, by_hand: bool
) -> None:
    """For a trace of it, or for all of a time."""
    one, keys = bench(store, tmp_path), [("", "b" * 32)]
    usable: list[FairChecker] = []
    one.client = ScriptedClient(lambda prompt: usable[0](prompt) if usable else "I would rather not.")
    with one.running():
        one.say(*session())
        one.close()
        assert {row.outcome for row in one.rows("a", "b")} == {Outcome.FAILED}
        usable.append(one.checker)
        one.packs.selector.request(keys, by_hand=by_hand)
        one.detecting.judging.ask(keys)
        one.close()
    assert Outcome.FAILED not in {row.outcome for row in one.rows("a", "b")}
    assert one.session()["scope-good"].value is not None


def test_what_no_quote_proves_is_no_error_and_counts_as_nothing(store: SharedStore, tmp_path: Path) -> None:
    one = bench(store, tmp_path, (good(0, 1), bad(0, 10, "never said by anybody"), bad(1, 10, "nor this")))
    one.hold_session(*session())
    verdicts = one.session()
    assert (verdicts["scope-bad"].value, verdicts["scope-bad"].raw) == (1, 0)
    assert verdicts["scope-label"].value == 1
    assert "no bad rubric is proven; 2 ungrounded" in verdicts["scope-label"].reasons
    assert errors(one, "a", "b") == {}


def test_live_bad_rubrics_are_told_when_an_exchange_ends_and_retracted_where_the_close_denies_them(
    store: SharedStore, tmp_path: Path
) -> None:
    """T + 1 calls. After a restart nothing is asked again."""

    class Changing(FairChecker):
        """Sees bad-0 in each exchange; at the close in the second alone."""

        def __call__(self, prompt: Prompt) -> str:
            whole = "Answer for the session as a whole" in prompt.messages[-1].text
            first, second = bad(0, 8, "Yes, 7 lamps.", "E1.S3"), bad(0, 8, "The mail is sent.", "E2.S3")
            self.faults = [second] if whole or "E2 (" in prompt.messages[-1].text else [first]
            return super().__call__(prompt)

    chosen = {"rubrics": str(set_file(tmp_path, SET)), "live": True}
    config = {"packs": ("scope",), "pack_settings": {"scope": chosen}}
    one = PackBench(store, Changing(), config=config)
    with one.running():
        for spans in session():
            one.say(spans)
        assert {*errors(one, "a", "b")} == {"ab1", "bb1"}
        assert one.session() == {}
        one.close()
    assert {*errors(one, "a", "b")} == {"bb1"}
    states = {finding.span_id.lstrip("0"): finding.state for finding in one.findings("a", "b")}
    assert states == {"ab1": FindingState.RETRACTED, "bb1": FindingState.CURRENT}
    assert len(one.checker.prompts) == 3
    later = PackBench(store, Changing(), config=config)
    later.detecting.now = one.detecting.now
    with later.running():
        later.say()
        later.close()
    assert later.checker.prompts == []
    assert {*errors(later, "a", "b")} == {"bb1"}


def test_without_a_set_the_situation_is_asked_beside_other_packs(store: SharedStore) -> None:
    """In one call with what others ask of the session; the item shows the states that a harness emits."""
    states = {
        "tracejury.state.before": '{"mail": [], "lamps": {"7": "on"}}',
        "tracejury.state.after": '{"mail": [], "lamps": {"7": "off"}}',
    }
    terms = {"services": {"shop": {"policies": ["Be kind."]}}}
    config = {"packs": ("pipa", "scope"), "pack_settings": {"pipa": {"checks": ["pipa-policy"]} | terms}}
    one = PackBench(store, FairChecker([situation("wrong-action-silent", "queued: the server is down")]), config=config)
    first, second = session()
    root, *others = second
    one.hold_session(first, [replace(root, attributes={**root.attributes, **states}), *others])
    (prompt,) = one.checker.prompts
    text = prompt.messages[-1].text
    assert '\n State before: {"mail": [], "lamps": {"7": "on"}}\n' in text
    assert '\n Changes of the state by the end: lamps.7: "on" became "off"\n' in text
    assert {*one.session()} == {"pipa-policy", "scope-situation"}
    (error,) = errors(one, "b").values()
    assert (error.lead.category, error.lead.severity, error.lead.confidence) == (
        "wrong-action-silent", Severity.HIGH, 0.2
    )  # fmt: skip
