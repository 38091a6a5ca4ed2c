"""Traces that are joined, and sessions, whose spans came to different processes: the result is that of one process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from judging_bench import T0, Bench, span
from several import differences, empty, processes
from sizes import sized

from tracejury.collector.store.derived.deriving import derive_until_stable
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND
from tracejury.schemas.spans import Span, SpanLink

OUTPUTS = ["boom", "fine", "all is well", "boom boom"]
SKEW = 300 * SECOND


@pytest.fixture(scope="module")
def stores(store_folder: Path) -> Iterator[list[SharedStore]]:
    """Two processes of one store, and a process of another one."""
    with processes(store_folder, 2) as two, processes(store_folder, 1) as one:
        yield [*two, *one]


@dataclass(frozen=True, slots=True)
class Sent:
    """A span: of which trace, which one there, what it says, its session, and the trace that it links to or below."""

    trace: int
    number: int
    output: str
    session: str
    link: int
    below: int

    @property
    def span(self) -> Span:
        """The first of a trace is its root, unless it is `below` one of another trace."""
        names = {"session.id": self.session} if self.session else {}
        parent = f"{self.trace}0" if self.number else f"{self.below}0" if self.below else ""
        made = span(f"{self.trace}{self.number}", parent, self.output, f"{self.trace}" * 32)
        links = (SpanLink(f"{self.link}" * 32, f"{self.link}0".rjust(16, "0")),) if self.link else ()
        start = 10 * self.trace + self.number
        return replace(made, start=start, end=start + 5, attributes={**made.attributes, **names}, links=links)


@st.composite
def traces(draw: st.DrawFn) -> list[Sent]:
    """Spans of a few traces: of one run, of a session, or of nothing together; the order is that of their arrival."""
    found: list[Sent] = []
    for trace in range(1, draw(st.integers(2, 4)) + 1):
        others = [0, *(n for n in range(1, 5) if n != trace)]
        link, below = draw(st.sampled_from([(0, 0), *((n, 0) for n in others), *((0, n) for n in others)]))
        session = draw(st.sampled_from(["", "s1"]))
        for number in range(draw(st.integers(1, 2))):
            tied = (0, 0) if number else (link, below)
            found.append(Sent(trace, number, draw(st.sampled_from(OUTPUTS)), session, *tied))
    return draw(st.permutations(found))


@given(traces(), st.data())
@settings(
    derandomize=True, max_examples=sized(6, 200), suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate]
)
def test_two_processes_give_what_one_gives(
    stores: list[SharedStore], tmp_path_factory: pytest.TempPathFactory, sent: list[Sent], data: st.DataObject
) -> None:
    """Whichever process has which trace or span, in whatever order they judge, with clocks five minutes apart."""
    for store in stores[1:]:
        empty(store)
    skew = data.draw(st.sampled_from([0, SKEW, -SKEW]))
    folder = tmp_path_factory.mktemp("dead")
    benches = [
        Bench(store, dead_letters=folder, now=T0 + late) for store, late in zip(stores, (0, skew, 0), strict=True)
    ]
    by_trace, whose = data.draw(st.booleans()), st.sampled_from([0, 1])
    for one in sent:
        benches[one.trace % 2 if by_trace else data.draw(whose)].commit(one.span)
        benches[2].commit(one.span)
        if data.draw(st.booleans()):
            benches[data.draw(whose)].wait(data.draw(st.sampled_from([0.5, 4, 7])))
    for _ in range(20):  # until it is quiet: whatever contends is judged again
        for of in (*data.draw(st.permutations([0, 1])), 2):
            benches[of].wait(200)
        if all(bench.judging.idle for bench in benches):
            break
    assert all(bench.judging.idle for bench in benches)
    assert "\n".join(differences(stores[0], stores[2])) == ""


def test_facts_of_a_part_that_a_dead_process_left_go_with_the_next_derivation(
    stores: list[SharedStore], tmp_path: Path
) -> None:
    """It had read the part before it was joined, wrote afterwards, and was killed before it read again."""
    store = stores[0]
    empty(store)
    bench = Bench(store, dead_letters=tmp_path)
    bench.commit(Sent(2, 0, "boom", "", 0, 1).span)
    bench.wait(1)
    (of_part,) = {row[0] for row in store.rows("SELECT TraceId FROM run_facts FINAL WHERE NOT Removed")}
    bench.commit(Sent(1, 0, "boom", "", 0, 0).span)
    for _ in range(3):
        bench.wait(700)
    stands = "SELECT TraceId, Unit, RunId FROM run_facts FINAL WHERE NOT Removed ORDER BY ALL"
    before = store.rows(stands)
    assert of_part not in {row[0] for row in before}
    late = "SELECT * REPLACE (FoldedAt * 2 AS FoldedAt) FROM run_facts WHERE NOT Removed AND TraceId = {part:String}"
    store.command(f"INSERT INTO run_facts {late}", {"part": of_part})
    assert store.rows(stands) != before
    derive_until_stable(store, [("", before[0][0])])
    assert store.rows(stands) == before
