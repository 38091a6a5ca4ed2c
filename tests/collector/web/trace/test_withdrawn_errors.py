"""Links of errors that hold no more."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import replace

import pytest
from trace_pages import TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.reader import Confidence, ErrorQuery


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def test_the_link_of_an_error_that_holds_no_more_says_why(pages: Pages) -> None:
    """The page without such a link says nothing of it, nor does one with the link of an error elsewhere."""
    pages.put(*failing_run())
    before = {error.error.id for error in pages.reader.errors(ErrorQuery(Confidence(0.0, 0.0), 50))}
    mended = failing_run(result="42 is the mean of data.csv")
    mended = [replace(s, status_code=0, status_message="", events=(), end=s.end + 1) for s in mended]
    pages.put(*mended)
    after = {error.error.id for error in pages.reader.errors(ErrorQuery(Confidence(0.0, 0.0), 50))}
    gone, *_ = sorted(before - after)
    target = pages.get(f"/errors/{gone}").headers["location"]
    assert f"gone={gone}" in target
    shown = html.unescape(pages.get(target.partition("#")[0]).text)
    assert "The error that this link names holds no more. With all spans that the trace has now" in shown
    assert "holds no more" not in pages.get(f"/traces/{TRACE_ID}").text
    assert "holds no more" not in pages.get(f"/traces/{TRACE_ID}", gone="f" * 32).text
