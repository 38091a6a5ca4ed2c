"""Scores as `langfuse` 4 and 5 and `arize-phoenix-client` 3 send them, as recorded, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from served_api import KNOWN, SPAN, Api

from tracejury.collector.auth.tokens_sent import token_sent

THUMBS = {"id": "one", "traceId": KNOWN, "name": "thumbs", "value": 1.0, "dataType": "NUMERIC", "comment": "good",
          "environment": "default", "metadata": {}, "timestamp": "2026-11-01T10:00:00.000001+00:00"}  # fmt: skip
TONE = {"traceId": KNOWN, "observationId": SPAN, "name": "tone", "value": "rude", "dataType": "CATEGORICAL"}
SOLVED = {"sessionId": "s1", "name": "solved", "value": 1, "dataType": "BOOLEAN", "configId": "c"}


def post(api: Api, path: str, body: Any) -> tuple[int, Any]:
    answer = api.client.post(path, json=body)
    return answer.status_code, answer.json()


def scores(api: Api) -> list[tuple[Any, ...]]:
    keys = ("name", "value", "label", "explanation", "trace_id", "span_id", "session_id", "source")
    return sorted((tuple(one[key] for key in keys) for one in api.get("/api/scores")["items"]), key=str)


EXPECTED = [
    ("solved", 1.0, "true", None, None, None, "s1", "langfuse"),
    ("thumbs", 1.0, None, "good", KNOWN, None, None, "langfuse"),
    ("tone", None, "rude", None, KNOWN, SPAN, None, "langfuse"),
]


def test_a_list_as_langfuse_5_sends_it(api: Api) -> None:
    """Each is taken for itself; an answer without refusals has no counts, which its client would report."""
    assert post(api, "/api/public/scores", [THUMBS, TONE, SOLVED]) == (202, {"message": "Accepted"})
    assert scores(api) == EXPECTED
    (status, answer) = post(api, "/api/public/scores", [THUMBS, {"name": "x", "value": 1}, {"traceId": KNOWN}, 7][:3])
    assert (status, answer["accepted"], answer["rejected"]) == (207, 1, 2)
    assert [one["message"] for one in answer["errors"]] == [
        "a score needs a trace_id, a span_id or a session_id", "name: this key is missing",
    ]  # fmt: skip
    assert scores(api) == EXPECTED


def test_one_score_as_other_clients_send_it(api: Api) -> None:
    """The answer has its id."""
    assert post(api, "/api/public/scores", THUMBS) == (200, {"id": "one"})
    status, answer = post(api, "/api/public/scores", {"name": "x", "value": ""} | {"traceId": KNOWN})
    assert (status, answer["detail"]) == (422, "value: an empty text is no score")


def test_events_as_langfuse_3_and_4_send_them(api: Api) -> None:
    """Only scores are taken; of each event the answer says what became of it."""

    def event(number: int, body: Any, kind: str = "score-create") -> dict[str, Any]:
        return {"id": f"e{number}", "type": kind, "timestamp": "2026-11-01T10:00:00Z", "body": body}

    batch = [event(1, THUMBS), event(2, TONE), event(3, SOLVED), event(4, {"id": "t"}, "trace-create"), event(5, None)]
    status, answer = post(api, "/api/public/ingestion", {"batch": batch, "metadata": {"sdk_name": "python"}})
    assert status == 207
    assert answer["successes"] == [{"id": f"e{n}", "status": 201, "message": None} for n in (1, 2, 3)]
    assert [(one["id"], one["status"]) for one in answer["errors"]] == [("e4", 400), ("e5", 400)]
    assert "only score-create events are taken here" in answer["errors"][0]["message"]
    assert scores(api) == EXPECTED


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_rest_of_langfuses_api_is_refused_in_words(api: Api, method: str) -> None:
    """So that a client's log says what is the matter."""
    answer = api.client.request(method, "/api/public/projects", json={} if method == "POST" else None)
    assert answer.status_code == 404
    assert "only POST scores" in answer.json()["detail"]


def test_annotations_as_phoenix_takes_them(api: Api) -> None:
    """One of the same place, name and identifier replaces the other; of a span alone the trace is found later."""
    helpful = {"span_id": SPAN, "name": "helpful", "annotator_kind": "HUMAN", "identifier": "", "metadata": {},
               "result": {"label": "yes", "score": 1.0, "explanation": "nice"}}  # fmt: skip
    status, answer = post(api, "/v1/span_annotations?sync=true", {"data": [helpful]})
    assert (status, len(answer["data"])) == (200, 1)
    post(api, "/v1/span_annotations?sync=false", {"data": [helpful | {"result": {"score": 0, "label": "no"}}]})
    post(api, "/v1/trace_annotations", {"data": [{"trace_id": KNOWN, "name": "ok", "result": {"score": 0.5}}]})
    post(api, "/v1/session_annotations", {"data": [{"session_id": "s", "name": "ok", "result": {"label": "fine"}}]})
    assert set(scores(api)) == {
        ("helpful", 0.0, "no", None, None, SPAN, None, "phoenix HUMAN"),
        ("ok", 0.5, None, None, KNOWN, None, None, "phoenix"),
        ("ok", None, "fine", None, None, None, "s", "phoenix"),
    }
    status, answer = post(api, "/v1/trace_annotations", {"data": [{"trace_id": KNOWN, "name": "x"}]})
    assert (status, answer["detail"]) == (422, "an annotation needs a score or a label")
    assert post(api, "/v1/span_notes", {"data": {}})[0] == 404


def test_a_password_is_a_key() -> None:
    """Clients of Langfuse send their secret key as the password of basic authentication."""
    assert token_sent([("authorization", "Basic cGs6dGpfc2VjcmV0")]) == "tj_secret"
    for broken in ("Basic", "Basic !!!", "Basic cGs=", "Basic /w=="):
        assert token_sent([("authorization", broken)]) == ""
