"""The form on a session's page: what people say of the session, and what they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from urllib.parse import quote

import pytest
from listed_traces import SECOND, Listed, store_all
from trace_pages import START, TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import SessionLabel
from tracejury.schemas.queries.labels import LabelQuery

ATTACK = "<script>window.hit=1</script>\u202e<b id=hit>'\"/../%2F"
TALK = Listed(1, session="talk/1", start=START, received=START + SECOND)
ODD = Listed(2, session=ATTACK, start=START, received=START + SECOND)
ALONE = Listed(3, start=START, received=START + SECOND)
DESK = Listed(4, session="talk/1", service="desk", start=START, received=START + SECOND)
FORM = {"session_id": "talk/1", "service": "shop", "annotator": "Ada", "good": "no"}


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    store_all(store, [TALK, ODD, ALONE, DESK])
    with trace_pages(store) as made:
        yield made


def said(pages: Pages) -> list[SessionLabel]:
    return sorted(pages.reader.labels.find(SessionLabel, LabelQuery(100)), key=lambda one: one.annotator)


@pytest.mark.parametrize("session", ["talk/1", ATTACK, ALONE.trace_id])
def test_a_session_is_labelled_on_its_page(pages: Pages, session: str) -> None:
    """Said, shown, changed, contested and withdrawn; also of a trace that is a session of its own."""
    form = FORM | {"session_id": session, "satisfied": "yes", "situation": "trusted-wrong-fact"}
    form |= {"explanation": ATTACK}
    answer = pages.post("/feedback/session", **form)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/sessions/{quote(session, safe='')}?service=shop"
    (label,) = said(pages)
    assert (label.service, label.session_id, label.good, label.satisfied, label.situation) == (
        "shop", session, False, True, "trusted-wrong-fact",
    )  # fmt: skip
    page = pages.client.get(answer.headers["location"]).text
    for text in ("bad, the user is satisfied, trusted-wrong-fact", 'value="yes" selected', "Withdraw mine"):
        assert text in page
    assert "contested" not in page
    assert "<b id=hit>" not in page
    pages.post("/feedback/session", **form | {"annotator": "Bob", "good": "yes", "situation": ""})
    assert "contested" in pages.client.get(answer.headers["location"]).text
    pages.post("/feedback/session", **form | {"annotator": "Bob", "withdrawn": "yes"})
    pages.post("/feedback/session", **form | {"satisfied": "", "situation": ""})
    (changed,) = said(pages)
    assert (changed.annotator, changed.good, changed.satisfied, changed.situation) == ("Ada", False, None, "")


@pytest.mark.parametrize(
    ("form", "code", "words"),
    [
        ({"good": "fair"}, 422, "good: must be true or false"),
        ({"good": ""}, 422, "good: "),
        ({"satisfied": "rather"}, 422, "satisfied: must be true or false"),
        ({"situation": "late"}, 422, "'late' is no situation; they are: correct, wrong-tool-silent"),
        ({"good": "yes", "situation": "null-response"}, 422, "a session in the situation null-response is bad"),
        ({"situation": "null-response", "satisfied": "yes"}, 422, "the user is dissatisfied"),
        ({"session_id": "talk/9"}, 404, "no session 'talk/9' of service 'shop' is stored"),
        ({"service": ""}, 422, "several services have such sessions"),
        ({"annotator": " "}, 422, "your name is missing"),
    ],
)
def test_what_a_form_cannot_say(pages: Pages, form: dict[str, str], code: int, words: str) -> None:
    """In one line, and nothing is kept."""
    answer = pages.post("/feedback/session", **FORM | form)
    assert (answer.status_code, words in unescape(answer.text)) == (code, True)
    assert said(pages) == []


def test_the_labels_page_draws_sessions(pages: Pages) -> None:
    """Each leads to its page; those that one has labelled are left out."""
    pages.post("/feedback/session", **FORM)
    listed = unescape(pages.get("/labels", purpose="sessions").text)
    assert "/sessions/talk%2F1?service=desk" in listed
    assert f"/sessions/{ALONE.trace_id}?service=shop" in listed
    assert "/sessions/talk%2F1?service=shop" not in listed
    assert "<b id=hit>" not in pages.get("/labels", purpose="sessions").text


def test_where_the_form_stands(pages: Pages) -> None:
    """On the page of one session, to which a trace without a session leads; not where several share the id."""
    several = pages.get("/sessions/talk%2F1").text
    assert 'action="/feedback/session"' not in several
    assert 'action="/feedback/session"' in pages.get("/sessions/talk%2F1", service="desk").text
    pages.put(*failing_run("refund it"))
    address = f"/sessions/{TRACE_ID}?service=shop"
    assert f'href="{address}"' in pages.get(f"/traces/{TRACE_ID}").text
    alone = pages.client.get(address).text
    assert "refund it" in alone
    assert f"session={TRACE_ID}" not in alone
