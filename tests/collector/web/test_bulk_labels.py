"""One opinion on several errors at once, by the form on the list of errors, and its undoing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from trace_pages import Pages, failing_run, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.bulk_labels import MOST
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.queries.labels import LabelQuery

BOX = re.compile(r'<input type="checkbox" form="bulk" name="(pick:[0-9a-f]{32})" value="1" aria-label="Select: [^"]+">')


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*failing_run())
        yield made


def boxes(pages: Pages) -> list[str]:
    return BOX.findall(pages.get("/errors", **{"from": "2023-01-01", "profile": "0"}).text)


def said(pages: Pages) -> list[Annotation]:
    return list(pages.reader.labels.find(Annotation, LabelQuery(1000)))


def test_all_that_are_picked_get_the_opinion_and_lose_it(pages: Pages) -> None:
    """The form that undoes it stands on the page that answers; the same again changes nothing."""
    picked = dict.fromkeys(boxes(pages), "1")
    assert len(picked) > 1
    form = {
        **picked,
        "annotator": "Ada",
        "note": "all alike",
        "opinion": "disagree",
        "back": "from=2023-01-01&profile=0",
    }
    for _ in range(2):
        answer = pages.post("/feedback/opinions", **form)
        assert answer.status_code == 200
        assert f"{len(picked)} errors labelled" in answer.text
        labels = said(pages)
        assert len(labels) == len(picked)
        assert {(one.annotator, one.opinion.value, one.explanation) for one in labels} == {
            ("Ada", "disagree", "all alike")
        }
    assert 'href="/errors?from=2023-01-01&amp;profile=0"' in answer.text
    undo = dict(re.findall(r'<input type="hidden" name="((?:pick:|annotator)[^"]*)" value="([^"]*)"', answer.text))
    assert set(undo) == {*picked, "annotator"}
    gone = pages.post("/feedback/opinions", **undo, opinion="withdraw")
    assert f"{len(picked)} errors labelled" in gone.text
    assert said(pages) == []


def test_each_is_taken_or_refused_for_itself(pages: Pages) -> None:
    """The page says which were not, and why; the others are labelled."""
    first, second = boxes(pages)[:2]
    answer = pages.post(
        "/feedback/opinions", **{first: "1", "pick:" + "0" * 32: "1", "annotator": "Ada", "opinion": "agree"}
    )
    assert "1 error labelled" in answer.text
    assert "no finding &#39;" + "0" * 32 in answer.text
    assert len(said(pages)) == 1
    answer = pages.post("/feedback/opinions", **{first: "1", second: "1", "annotator": "Bob", "opinion": "withdraw"})
    assert "0 errors labelled" in answer.text
    assert "Bob has said nothing of" in answer.text
    assert len(said(pages)) == 1


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_at_least_one_and_not_too_many(pages: Pages, count: int) -> None:
    picked = {f"pick:{number:032x}": "1" for number in range(count)}
    answer = pages.post("/feedback/opinions", **picked, annotator="Ada", opinion="agree")
    assert answer.status_code == 422
    assert f"select from 1 to 500 errors, not {count}" in answer.text


@pytest.mark.parametrize("changes", [{"opinion": "other-span"}, {"opinion": ""}, {"annotator": ""}, {"csrf": "x"}])
def test_what_is_no_opinion_of_somebody_is_refused(pages: Pages, changes: dict[str, str]) -> None:
    form = {boxes(pages)[0]: "1", "annotator": "Ada", "opinion": "agree"} | changes
    answer = (
        pages.client.post("/feedback/opinions", data=form)
        if "csrf" in changes
        else pages.post("/feedback/opinions", **form)
    )
    assert answer.status_code in (403, 422)
    assert said(pages) == []


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example/", '"><script>', "\\..\\", "a=b&c=%0d%0aX:1"])
def test_the_way_back_is_the_list_of_errors(pages: Pages, back: str) -> None:
    """Whatever the form says."""
    answer = pages.post(
        "/feedback/opinions", **{boxes(pages)[0]: "1", "annotator": "Ada", "opinion": "agree", "back": back}
    )
    (link,) = re.findall(r'class="button" href="([^"]*)"', answer.text)
    assert link.startswith("/errors?")
    assert "<script>" not in answer.text
