"""`/api/scores`: what others say of traces, spans and sessions, before and after these are there."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from time import sleep
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from listed_traces import Listed, store_all
from served_api import KNOWN, NOW, SPAN, Api, served
from store_parts import a_span

from tracejury.collector.api.access import needed_scope
from tracejury.collector.api.app import create_app
from tracejury.collector.api.paths import SCORES
from tracejury.collector.api.services import Services
from tracejury.collector.auth.key import KeyScope
from tracejury.collector.otlp.redaction.build import build_redactor
from tracejury.collector.otlp.redaction.config import RedactionConfig
from tracejury.collector.otlp.redaction.stage import record_redaction
from tracejury.collector.store import scores
from tracejury.collector.store.lists.sessions import MOST_OF_IDS
from tracejury.collector.store.scores import StoredScores, in_parts
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.given_scores import GivenScore, as_records, with_texts_of
from tracejury.schemas.queries.scores import ScoreQuery

PATH = "/api/scores"
HOSTILE = "<script>alert(1)</script>{{7*7}}';DROP TABLE scores--\x1b[2J"
UP = {"trace_id": KNOWN, "name": "thumbs", "value": 1}


def send(api: Api, body: Any) -> Any:
    """The JSON, or status and detail of a refusal."""
    answer = api.client.post(PATH, content=json.dumps(body), headers={"content-type": "application/json"})
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["detail"])


def listed(api: Api, **asked: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(PATH, **asked)["items"]
    return found


def test_a_score_is_taken_as_it_was_said(api: Api) -> None:
    """Any name, number, label and text; it is shown with the time at which it was said, and waits for its trace."""
    said = {"id": "mine", "trace_id": KNOWN.upper(), "span_id": SPAN, "name": "correctness", "value": 0.25,
            "label": "wrong", "explanation": HOSTILE, "source": "end user", "at": "2026-11-01T10:00:00Z"}  # fmt: skip
    assert send(api, said) == {"ids": ["mine"], "left_out": 0}
    (found,) = listed(api)
    assert found == said | {
        "trace_id": KNOWN, "session_id": None, "error_type": None, "at": "2026-11-01T10:00:00.000000Z",
        "received_at": "2026-11-20T10:09:46.000000Z", "waiting": True,
    }  # fmt: skip
    store_all(api.store, [Listed(1, received=NOW)])
    send(api, UP | {"trace_id": Listed(1).trace_id})
    assert [one["waiting"] for one in listed(api, trace=Listed(1).trace_id)] == [False]
    assert [one["waiting"] for one in listed(api, waiting="true")] == [True]


def test_the_same_again_is_one_and_another_of_its_id_replaces_it(api: Api) -> None:
    """Without an id it follows from what is said; without value and label a score withdraws the one of its id."""
    first, again, other = send(api, UP), send(api, [UP]), send(api, {"items": [UP | {"value": -1}]})
    assert first == again != other
    assert len(listed(api)) == 2
    send(api, UP | {"id": "x"})
    send(api, UP | {"id": "x", "value": False})
    assert [(one["value"], one["label"]) for one in listed(api) if one["id"] == "x"] == [(0.0, "false")]
    send(api, {"trace_id": KNOWN, "name": "thumbs", "id": "x"})
    assert [one["id"] for one in listed(api)] == [other["ids"][0], first["ids"][0]]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"value": 1, "trace_id": KNOWN}, "items.name: "),
        (UP | {"valeu": 2}, "unknown parameter 'valeu'; there are: id, trace_id"),
        (UP | {"value": "good"}, "value.float: must be a number"),
        (UP | {"value": 10**400}, "value.float: must be a number"),
        (UP | {"value": math.nan}, "must be a finite number"),
        (UP | {"session_id": "s"}, "a trace names its session"),
        ({"name": "thumbs", "value": 1}, "needs a trace_id, a span_id or a session_id"),
        ({"name": "thumbs", "trace_id": KNOWN}, "needs a value or a label"),
        (UP | {"name": "a\x00b"}, "cannot be printed"),
        (UP | {"label": "\ud800"}, "label: "),
        ({"items": []}, "items"),
        ({"items": [UP] * 1001}, "1000"),
        (UP | {"at": "tomorrow-ish"}, "at: "),
    ],
)
def test_what_a_score_cannot_say_is_refused_in_one_line(api: Api, body: Any, told: str) -> None:
    """Then nothing of the request is stored."""
    if isinstance(body, dict) and "items" not in body:
        body = {"items": [UP, body]}
    status, detail = send(api, body)
    assert 400 <= status < 500
    assert told in detail
    assert "\n" not in detail
    assert listed(api) == []


def test_filters_choose(api: Api) -> None:
    """By name, source, place, time and value."""
    send(api, [
        UP | {"source": "end user"},
        UP | {"name": "tone", "value": 0.5, "label": "rude"},
        {"session_id": "one", "name": "thumbs", "value": 0},
        {"trace_id": "b" * 32, "span_id": SPAN, "name": "a=b", "label": "x"},
    ])  # fmt: skip
    for asked, count in (
        ({"name": "thumbs"}, 2), ({"source": "end user"}, 1), ({"trace": KNOWN}, 2), ({"session": "one"}, 1),
        ({"span": SPAN}, 1), ({"score": "thumbs>=1"}, 1), ({"score": "thumbs<1"}, 1), ({"score": "tone=rude"}, 1),
        ({"score": "tone=0.5"}, 1), ({"score": "tone>0.5"}, 0), ({"since": "2026-11-21T00:00:00Z"}, 0),
        ({"limit": "3"}, 3),
    ):  # fmt: skip
        assert len(listed(api, **asked)) == count, asked
    assert "is no NAME>=VALUE" in api.client.get(PATH, params={"score": "thumbs"}).json()["detail"]
    assert "is no number" in api.client.get(PATH, params={"score": "thumbs>=up"}).json()["detail"]
    first = api.get(PATH, limit="3")
    rest = api.get(PATH, limit="3", cursor=first["next"])
    assert len({one["id"] for one in first["items"] + rest["items"]}) == 4
    assert rest["next"] is None


def test_a_span_may_come_after_its_score(api: Api) -> None:
    """Named without its trace, a score is of the one trace that has the span, then or later."""
    send(api, {"span_id": SPAN, "name": "thumbs", "value": 1})
    assert [(one["trace_id"], one["waiting"]) for one in listed(api)] == [(None, True)]
    api.put_spans(a_span(trace_id=KNOWN, span_id=SPAN))
    assert api.reader.scores.place_waiting() == 1
    assert [one["trace_id"] for one in listed(api)] == [KNOWN]
    assert api.reader.scores.place_waiting() == 0
    send(api, {"span_id": SPAN, "name": "tone", "value": 1})
    assert [one["trace_id"] for one in listed(api)] == [KNOWN, KNOWN]


def test_waiting_scores_of_two_spans_may_have_one_id(api: Api) -> None:
    """As ids of scores are of a trace, and it is not known yet whether theirs is the same."""
    other, third = "f" * 16, "e" * 16
    up = {"id": "ann", "name": "thumbs", "value": 1}
    sent = send(api, [up | {"span_id": SPAN}, up | {"span_id": other, "value": 0}])["ids"]
    assert sorted(one["value"] for one in listed(api)) == [0.0, 1.0]
    assert send(api, {"id": sent[1], "span_id": other, "name": "thumbs", "value": -1})["ids"] == [sent[1]]
    api.put_spans(a_span(trace_id=KNOWN, span_id=SPAN), a_span(trace_id=KNOWN, span_id=other))
    assert api.reader.scores.place_waiting() == 2
    assert sorted((one["trace_id"], one["value"]) for one in listed(api)) == [(KNOWN, -1.0), (KNOWN, 1.0)]
    send(api, [{"id": "ann", "span_id": other, "name": "thumbs"}, up | {"id": "x" * 200, "span_id": third}])
    assert sorted((one["trace_id"] or "", one["value"]) for one in listed(api)) == [("", 1.0), (KNOWN, 1.0)]


def test_any_number_of_scores_may_wait_for_a_span(api: Api) -> None:
    """They are placed by pages, each score once."""
    scores = [GivenScore(id=f"{number}", name="x", value=number, span_id=SPAN) for number in range(2500)]
    assert api.reader.scores.save([one.checked() for one in scores], NOW) == 0
    other = {"id": "mine", "span_id": "f" * 16, "name": "y", "value": 1}
    send(api, other)
    api.put_spans(a_span(trace_id=KNOWN, span_id=SPAN))
    assert api.reader.scores.place_waiting() == 2500
    found = api.reader.scores.find(ScoreQuery(5000))
    assert sorted(one.value for one in found if one.trace_id == KNOWN and one.value is not None) == [*range(2500)]
    assert [one.name for one in found if not one.trace_id] == ["y"]


def test_no_more_is_looked_through_than_what_arrived(api: Api) -> None:
    """Spans of before are known: their scores had their trace at once, or at the look before."""
    send(api, {"span_id": SPAN, "name": "thumbs", "value": 1})
    api.put_spans(a_span(trace_id=KNOWN, span_id=SPAN))
    (arrived,) = api.store.rows("SELECT toUnixTimestamp64Nano(ReceivedAt) FROM spans")[0]
    assert api.reader.scores.place_waiting(arrived + 1) == 0
    assert api.reader.scores.place_waiting(arrived) == 1


def test_a_score_that_comes_while_it_is_placed_waits(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The later word of one id is not lost with the earlier one."""
    up = {"id": "ann", "span_id": SPAN, "name": "thumbs", "value": 1}
    send(api, up)
    api.put_spans(a_span(trace_id=KNOWN, span_id=SPAN))
    (waiting,) = api.reader.scores.find(ScoreQuery(10))
    place = scores.insert_scores

    def meanwhile(store: SharedStore, placed: Iterable[GivenScore]) -> None:
        place(store, [replace(waiting, value=0.0, received_at=NOW + 1)])
        monkeypatch.setattr(scores, "insert_scores", place)
        place(store, placed)

    monkeypatch.setattr(scores, "insert_scores", meanwhile)
    assert api.reader.scores.place_waiting() == 2
    assert [(one["trace_id"], one["value"]) for one in listed(api)] == [(KNOWN, 0.0)]


def test_requests_that_come_together_share_an_insert(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told of its own; a failure is told to all whose scores are not stored."""
    place, sizes, began, go_on = scores.insert_scores, list[int](), Event(), Event()

    def slowly(store: SharedStore, said: Iterable[GivenScore]) -> None:
        rows = list(said)
        sizes.append(len(rows))
        began.set()
        assert go_on.wait(60)
        if any(one.name == "poison" for one in rows):
            raise RetryableError("not now")
        place(store, rows)

    monkeypatch.setattr(scores, "insert_scores", slowly)
    store = StoredScores(api.store)
    gone = "9" * 32
    api.store.tombstones.add([("", gone)], NOW + 10)

    def save(number: int, name: str = "thumbs", trace: str = KNOWN) -> int:
        return store.save([GivenScore(id=f"{number}", name=name, value=number, trace_id=trace)], NOW)

    for name in ("thumbs", "poison"):
        began.clear()
        go_on.clear()
        with ThreadPoolExecutor(8) as pool:
            first = pool.submit(save, 0)
            assert began.wait(60)
            others = [pool.submit(save, number, name) for number in range(1, 5)]
            left_out = pool.submit(save, 5, "thumbs", gone)
            while len(store._waiting) < 5:
                sleep(0.001)
            go_on.set()
            assert first.result() == 0
            if name == "poison":
                assert all(isinstance(one.exception(), RetryableError) for one in (*others, left_out))
            else:
                assert [one.result() for one in (*others, left_out)] == [0, 0, 0, 0, 1]
        assert sizes[-2:] == [1, 4]
    assert len(listed(api)) == 5
    api.store.tombstones.expire(NOW + 10)


def test_a_full_disk_takes_none(api: Api) -> None:
    """As it takes no spans; the sender is told to come again."""
    services = Services(
        api.reader, lambda _ids, _all: (), lambda: (), lambda: b"", disk_problem=lambda: "the disk is full"
    )
    with served(create_app(services)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        for path, body in (
            (PATH, UP), ("/api/public/scores", {"traceId": KNOWN, "name": "thumbs", "value": 1}),
            ("/v1/trace_annotations", {"data": [{"trace_id": KNOWN, "name": "x", "result": {"score": 1}}]}),
        ):  # fmt: skip
            answer = client.post(path, json=body)
            assert (answer.status_code, answer.json()["detail"]) == (503, "the disk is full")
            assert int(answer.headers["retry-after"]) > 0
    assert listed(api) == []


@given(st.sets(st.text(min_size=1, max_size=9) | st.integers(1, 3).map(lambda times: "é" * 10_000 * times)))
def test_ids_are_asked_for_in_parts(ids: set[str]) -> None:
    """A server takes a parameter of bounded length, and a session id may have 10,000 characters."""
    parts = list(in_parts(ids))
    assert [one for part in parts for one in part] == sorted(ids)
    assert all(len(part) == 1 or len("".join(part).encode()) <= MOST_OF_IDS for part in parts)


def test_deleted_with_its_trace_or_session(api: Api) -> None:
    """And left out while its trace stays deleted."""
    one = Listed(1, session="one", received=NOW)
    store_all(api.store, [one])
    send(api, [UP | {"trace_id": one.trace_id}, {"session_id": "one", "name": "thumbs", "value": 1}, UP])
    deleter = TraceDeleter(api.store)
    assert deleter.count([one.trace_id], NOW + 1)["scores"] == 2
    deleter.delete([one.trace_id], NOW + 1)
    assert [left["trace_id"] for left in listed(api)] == [KNOWN]
    gone = "9" * 32
    api.store.tombstones.add([("", gone)], NOW + 10)
    assert send(api, [UP | {"trace_id": gone}, UP | {"trace_id": "c" * 32}])["left_out"] == 1
    assert listed(api, trace=gone) == []
    api.store.tombstones.expire(NOW + 10)


def test_who_may_send_may_score() -> None:
    """A key of an agent that sends spans may send scores; lists of them need another scope."""
    for path in SCORES:
        assert needed_scope("POST", path) is KeyScope.INGEST
    assert needed_scope("GET", PATH) is KeyScope.READ
    assert needed_scope("POST", "/api/score-outcomes") is KeyScope.LABEL


def test_texts_are_redacted_as_those_of_spans() -> None:
    """Ids, places and values stay as they are."""
    said = GivenScore(id="x", name="from a@b.org", explanation="ask a@b.org", label="a@b.org", value=1, trace_id=KNOWN)
    redact = record_redaction(build_redactor(RedactionConfig(sets=("email",))))
    (record,) = redact(as_records([said]))
    found = with_texts_of(said, record)
    assert "a@b.org" not in f"{found.name} {found.label} {found.explanation}"
    assert replace(found, name=said.name, label=said.label, explanation=said.explanation) == said
