"""Traces that are joined, and sessions, whose spans came to different processes: the result is that of one process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from judging_bench import T0, Bench, span
from several import differences, empty, processes
from sizes import sized

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


@st.composite
def traces(draw: st.DrawFn) -> list[Span]:
    """Spans of a few traces: of one run, of a session, or of nothing together; the order is that of their arrival."""
    found: list[Span] = []
    for number in range(draw(st.integers(2, 4))):
        trace_id = f"{number + 1}" * 32
        links = draw(st.lists(st.integers(0, 3).filter(lambda to, own=number: to != own), max_size=1))
        session = draw(st.sampled_from(["", "s1"]))
        for at in range(draw(st.integers(1, 2))):
            own = span(f"{number + 1}{at}", f"{number + 1}0" if at else "", draw(st.sampled_from(OUTPUTS)), trace_id)
            named = {"session.id": session} if session else {}
            own = replace(own, start=10 * number + at + 1, end=10 * number + 9, attributes=own.attributes | named)
            if links and not at:
                own = replace(own, links=tuple(SpanLink(f"{to + 1}" * 32, f"{to + 1}0".rjust(16, "0")) for to in links))
            found.append(own)
    return draw(st.permutations(found))


@given(traces(), st.data())
@settings(max_examples=sized(12, 200), suppress_health_check=[HealthCheck.too_slow])
def test_two_processes_give_what_one_gives(
    stores: list[SharedStore], tmp_path_factory: pytest.TempPathFactory, spans: list[Span], data: st.DataObject
) -> None:
    """Whichever process has which trace or span, in whatever order they judge, with clocks five minutes apart."""
    for store in stores[1:]:
        empty(store)
    skew = data.draw(st.sampled_from([0, SKEW, -SKEW]))
    folder = tmp_path_factory.mktemp("dead")
    first, second, alone = (
        Bench(store, dead_letters=folder, now=T0 + late) for store, late in zip(stores, (0, skew, 0), strict=True)
    )
    by_trace = data.draw(st.booleans())
    for one in spans:
        of = int(one.trace_id[0]) if by_trace else data.draw(st.integers(0, 1))
        (first, second)[of % 2].commit(one)
        alone.commit(one)
        if data.draw(st.booleans()):
            data.draw(st.sampled_from([first, second])).wait(data.draw(st.sampled_from([0.5, 4, 7])))
    for _ in range(3):
        for bench in (*data.draw(st.permutations([first, second])), alone):
            bench.wait(20)
    assert differences(stores[0], stores[2]) == {}
