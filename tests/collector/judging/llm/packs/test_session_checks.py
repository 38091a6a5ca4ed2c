"""Checks of sessions over the real store: whatever subset of a pack is on, and items that settle on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judging_bench import T0
from pack_bench import CHAT, SECOND, SERVICE, Called, FairChecker, Fault, PackBench, exchange
from sizes import sized

from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.packs import loader
from tracejury.judges.packs.loader import load_packs
from tracejury.schemas.findings import FindingState
from tracejury.schemas.spans import Span
from tracejury.schemas.verdicts import Outcome, SubjectKind

NOTES = ("books the lamp", "sends the mail", "asks for the name")
STOCK = Called("list_stock", '{"city": "Oslo"}', "7 lamps", thought="I list what there is.")
BOOK = Called("book", '{"lamp": 1}', "booked", thought="I book the lamp.")
CHECK = {"title": "Notes", "definition": "Notes achieved.", "subject": "session", "explain": "Notes."}
PACK: dict[str, Any] = {
    "version": 1,
    "name": "notes",
    "title": "Notes",
    "description": "Notes that settle.",
    "checks": [
        {
            **CHECK, "name": "notes-done", "measure": "N", "items": "criteria", "settles": "best", "quoted": False,
            "criteria": {f"n{number}": text for number, text in enumerate(NOTES)},
            "question": "Is this achieved?", "best": "It is.", "category": "not achieved", "scale": ["yes", "no"],
        },
        {**CHECK, "name": "notes-speed", "measure": "V", "of": ["notes-done"]},
    ],
}  # fmt: skip
MEASURES = """
from tracejury.judges.checks.formula import Ratio

def done(entries):
    answers = [answer for entry in entries for answer in entry]
    return Ratio(sum(answer.best for answer in answers), len(answers))

def speed(entries):
    return Ratio(sum(done([entry]).value or 0 for entry in entries), len(entries))

FORMULAS = {"notes-done": done, "notes-speed": speed}
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The pack `notes`, installed in `tmp_path`; a configuration that names it."""
    package = f"notes_of_{tmp_path.name}"  # packages are read once a process
    for name, text in {"__init__.py": "", "measures.py": MEASURES, "pack.yaml": yaml.safe_dump(PACK)}.items():
        (tmp_path / package).mkdir(exist_ok=True)
        (tmp_path / package / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    offered = [EntryPoint("notes", package, loader.GROUP)]
    monkeypatch.setattr(loader, "entry_points", lambda group: offered if group == loader.GROUP else [])
    return {"packs": ("notes",)}


def asked_about(bench: PackBench) -> list[list[str]]:
    """The notes that each prompt asks about."""
    items = [prompt.messages[-1].text.rpartition("=== items ")[2] for prompt in bench.checker.prompts]
    return [[note for note in NOTES if note in text.partition("=== end of items")[0]] for text in items]


def one_by_one(bench: PackBench, *traces: Sequence[Span]) -> None:
    """A session, of which each exchange is judged before the next."""
    with bench.running():
        for spans in traces:
            bench.say(spans)
        bench.close()


def a_session() -> list[list[Span]]:
    return [
        exchange("a", "What is there?", [STOCK], "7 lamps."),
        exchange("b", "Book one.", [BOOK], "It is booked.", at=60),
        exchange("c", "Thanks.", [], "You are welcome.", at=120),
    ]


ALL = tuple(check for pack in load_packs(["pipa", "rut"]) for check in pack.checks)
SUBSETS = [
    tuple({name: None for check in checks for name in (check.name, *check.of)})
    for size in (1, 2)
    for checks in combinations(ALL, size)
]
"""A measure of other checks with these."""


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(SUBSETS))
def test_whatever_checks_are_on_a_session_has_a_verdict_of_each_once(
    store: SharedStore, checks: tuple[str, ...]
) -> None:
    """Also of checks of sessions alone, which nobody asks of exchanges."""
    for table in ("spans", "traces", "judgements", "verdicts", "findings"):
        store.command(f"TRUNCATE TABLE {table}")
    packs = sorted({name.partition("-")[0] for name in checks})
    chosen = {pack: {"checks": [n for n in checks if n.startswith(f"{pack}-")]} for pack in packs}
    terms = {"services": {"shop": {"policies": ["Be kind."]}}}
    bench = PackBench(store, config={"packs": packs, "pack_settings": {p: chosen[p] | terms for p in packs}})
    bench.hold_session(*a_session()[:2])
    rows = [row for row in bench.rows("a", "b") if row.kind is SubjectKind.SESSION]
    assert sorted(row.judge for row in rows) == sorted(checks)
    assert {row.outcome for row in rows} <= {Outcome.DONE, Outcome.CACHED, Outcome.NOT_APPLICABLE}
    assert {*bench.session()} == {*checks}
    asked = len(bench.checker.prompts)
    bench.close()
    assert len(bench.checker.prompts) == asked


def test_an_achieved_note_is_not_asked_about_again(store: SharedStore, notes: dict[str, Any]) -> None:
    """An open one is at each exchange; at the close nothing is left to ask."""
    bench = PackBench(store, Achieving({0: NOTES[0], 1: NOTES[1]}), config=notes)
    with bench.running():
        for spans in a_session():
            bench.say(spans)
            assert bench.findings("a", "b", "c") == []  # what may still be achieved is no error yet
        bench.close()
    assert asked_about(bench) == [[*NOTES], [*NOTES[1:]], [NOTES[2]]]
    session = bench.session()
    assert [(item.item.partition(": ")[2], item.best) for item in session["notes-done"].items] == [
        (NOTES[0], True), (NOTES[1], True), (NOTES[2], False)
    ]  # fmt: skip
    assert session["notes-done"].value == pytest.approx(2 / 3)
    assert session["notes-speed"].value == pytest.approx((1 / 3 + 2 / 3 + 2 / 3) / 3)
    (open_one,) = bench.findings("a", "b", "c")
    assert (open_one.state, open_one.category) == (FindingState.CURRENT, f"n2: {NOTES[2]}")
    assert open_one.trace_id == "c" * 32  # at the answer of the last exchange that it was asked of


def test_a_task_has_as_many_entries_as_exchanges_it_may_take(
    store: SharedStore, notes: dict[str, Any], tmp_path: Path
) -> None:
    """Those that came late count nothing; those that a session does not have keep what was achieved."""
    (tmp_path / "cards.yaml").write_text(yaml.safe_dump([{"id": "t2", "max_turns": 2}, {"id": "t6", "max_turns": 6}]))
    for task, asked, value in (("t2", [3, 2], (1 / 3 + 2 / 3) / 2), ("t6", [3, 2, 1], (1 / 3 + 5 * 2 / 3) / 6)):
        for table in ("spans", "traces", "judgements", "verdicts", "findings"):
            store.command(f"TRUNCATE TABLE {table}")
        spans = [
            exchange("a", "What is there?", [STOCK], "7 lamps.", extra={"task_id": task}),
            *a_session()[1:],
        ]
        bench = PackBench(
            store, Achieving({0: NOTES[0], 1: NOTES[1]}), config=notes | {"tasks": (str(tmp_path / "cards.yaml"),)}
        )
        one_by_one(bench, *spans)
        assert [len(about) for about in asked_about(bench)] == asked
        assert bench.session()["notes-speed"].value == pytest.approx(value)


def test_exchanges_may_be_judged_in_any_order(store: SharedStore, notes: dict[str, Any]) -> None:
    """A trace that comes late takes its place: what it achieved counts from there on."""
    bench = PackBench(store, Achieving({0: NOTES[0], 1: NOTES[1]}), config=notes)
    first, second, third = a_session()
    with bench.running():
        bench.say(second, third)
        bench.say(first)
        bench.close()
    assert bench.session()["notes-done"].value == pytest.approx(2 / 3)
    assert bench.session()["notes-speed"].value == pytest.approx((1 / 3 + 2 / 3 + 2 / 3) / 3)


def test_a_check_of_personas_is_asked_of_sessions_with_one_alone(
    store: SharedStore, notes: dict[str, Any], tmp_path: Path
) -> None:
    """Of others the row says why it was not."""
    (first, second) = PACK["checks"]
    personal = PACK | {"checks": [first | {"persona": True}, second | {"persona": True}]}
    next(tmp_path.glob("notes_of_*/pack.yaml")).write_text(yaml.safe_dump(personal))
    for persona, asked in (("", []), ("curt", [[*NOTES]])):
        bench = PackBench(store, Achieving({0: NOTES[0]}), config=notes)
        extra = {"tracejury.simulated": "true", "tracejury.persona": persona}
        bench.hold_session(exchange("a", "What is there?", [STOCK], "7 lamps.", extra=extra))
        assert asked_about(bench) == asked
        reasons = {row.reason for row in bench.rows("a") if row.judge == "notes-done"}
        assert ("its user is no simulated one with a persona" in reasons) is not bool(persona)
        for table in ("spans", "traces", "judgements", "verdicts", "findings"):
            store.command(f"TRUNCATE TABLE {table}")


def test_a_session_of_many_exchanges_that_settle_an_item(store: SharedStore, notes: dict[str, Any]) -> None:
    """Judged side by side: each is asked about once, and what one achieved holds for all after it."""
    size = sized(8, 250)
    bench = PackBench(store, Achieving({0: NOTES[0]}), config=notes)
    with bench.running():
        bench.detecting.commit(*(span for part in range(4) for span in many(part, size)))
        bench.detecting.wait(4 * size)
        bench.settle()
        bench.close()
    assert len(bench.checker.prompts) == 4 * size
    session = bench.session()
    assert [item.best for item in session["notes-done"].items] == [True, False, False]
    assert session["notes-speed"].value == pytest.approx(1 / 3)


def many(part: int, count: int) -> list[Span]:
    """A trace of so many exchanges, the first of which lists the stock."""
    trace_id, at = f"{part + 1:x}" * 32, part * count
    ends = T0 + (at + count) * SECOND
    root = Span(
        trace_id, "f" * 16, "", "chat", T0 + at * SECOND, ends, {"session.id": CHAT}, service=SERVICE
    )  # fmt: skip
    spans = [root]
    for number in range(at, at + count):
        made = exchange("a", f"What of {number}?", [], "It is so." if number else "7 lamps.", at=number)
        ids = {span.span_id: f"{number:x}".rjust(4, "0") + span.span_id[4:] for span in made}
        spans += [
            replace(
                s, trace_id=trace_id, span_id=ids[s.span_id], parent_span_id=ids.get(s.parent_span_id, root.span_id)
            )
            for s in made
        ]
    return spans


class Achieving(FairChecker):
    """Says of each note whether it is achieved in the record that it is shown, by who achieves it: trace to note."""

    SAID = ("7 lamps.", "It is booked.", "You are welcome.")

    def __init__(self, achieved: dict[int, str]) -> None:
        super().__init__()
        self.achieved = achieved

    def reply(self, text: str) -> str:
        """The reply: notes without a fault are achieved."""
        shown = "".join(message.text for message in self.prompts[-1].messages)
        done = {note for number, note in self.achieved.items() if self.SAID[number] in shown}
        self.faults = tuple(Fault("notes-done", note, "") for note in NOTES if note not in done)
        return super().reply(text)
