"""Grades on the pages, in a browser over the real store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from graded import FAILED, NONE_DUE, graded
from listed_traces import SECOND, Listed, store_all
from served_api import served
from store_parts import a_span
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.packs.grades import grades_pack
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

if TYPE_CHECKING:
    from browsing import Watched

NOW = 1_800_000_000 * SECOND
HOUR = 3_600 * SECOND
TALK = Listed(1, session="talk", received=NOW - HOUR, start=NOW - HOUR)
LATER = Listed(2, session="talk", received=NOW - HOUR, start=NOW - HOUR + 1)


@pytest.fixture
def grades(store: SharedStore, open_site: Callable[[str], Watched]) -> Iterator[Watched]:
    """A browser on the pages over three graded runs of two traces, one of which was sampled."""
    store_all(store, [TALK, LATER])
    spans = [a_span(trace_id=trace.trace_id, service="shop") for trace in (TALK, LATER)]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, NOW - HOUR))
    graded(store, TALK, GF=3, PQ=NONE_DUE, PA=0, TC=1)
    graded(store, TALK, "h", GF=2, TC=FAILED)
    graded(store, LATER, probability=0.5, GF=1)
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW, lambda: [grades_pack()])
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url:
        watched = open_site(url)
        yield watched
        watched.check_quiet()


def test_grades_stand_where_people_look(grades: Watched) -> None:
    """On the overview, beside the judges, by group with the worst runs, at a trace and at a session."""
    page = grades.page
    grades.open("/")
    row = page.locator("tr", has_text="GF Goal Fulfilment")
    row.wait_for()
    told = row.inner_text().replace("\u202f", " ")
    assert "1.75" in told
    assert told.endswith("75.0 %")  # asked of three runs that stand for four
    adherence = page.locator("tr", has_text="PA Plan Adherence").inner_text().replace("\u202f", " ")
    assert "100 %" in adherence  # graded 0, and
    assert adherence.split("\t")[-2:] == ["1", "100 %"]  # without a finding
    grades.check_accessible()
    page.get_by_role("link", name="By agent, model, task and time").click()
    page.wait_for_url("**/packs/gpa*")
    page.get_by_role("link", name="Agent", exact=True).click()
    assert "helper" in page.locator("section", has_text="By agent").inner_text()
    assert page.locator("[data-chart] canvas").count() == 1
    worst = page.locator("section", has_text="Worst runs").locator("tbody tr").first
    assert [cell.strip() for cell in worst.inner_text().split("\t")][-1] == "1"
    grades.check_accessible()
    worst.get_by_role("link").click()
    page.wait_for_url(f"**/traces/{LATER.trace_id}*")
    assert "goal 1 · 1 of 3" in page.locator("#trace-facts").inner_text()
    grades.open("/sessions/talk")
    assert "goal 2 · plan 0 · action 1" in page.locator("dl.figures").inner_text()
    grades.open("/judges")
    assert "(1 without a finding)" in page.locator("tr", has_text="plan-adherence").inner_text()
