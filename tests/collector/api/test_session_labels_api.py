"""`/api/session-labels`, `tracejury labels session` and the queue of sessions: what people say of whole sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from label_items import post
from listed_traces import Listed, store_all
from served_api import NOW, SECOND, Api

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.root import root
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.schemas.annotations import GENERATOR
from tracejury.schemas.trajectory import TraceState

HOSTILE = "a/../b'\"\\%2F;--\x1b[2J\u202e<b>\n"
PATH = "/api/session-labels"
ONE, ODD = Listed(1, session="one", received=NOW), Listed(2, session=HOSTILE, received=NOW)
ALONE = Listed(3, received=NOW)  # without a session: one of its own
DESK = Listed(4, session="one", service="desk", received=NOW)


@pytest.fixture
def talks(api: Api) -> Api:
    """A shop with two sessions and a trace without one, and a desk with a session by the id of another."""
    store_all(api.store, [ONE, ODD, ALONE, DESK])
    return api


def label(**changes: Any) -> dict[str, Any]:
    return {"annotator": "ann", "service": "shop", "session_id": "one", "good": False} | changes


def run(api: Api, *args: str) -> Any:
    return CliRunner().invoke(root, ["labels", *args], env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})


def test_one_label_a_person_and_session(talks: Api) -> None:
    """Another one replaces it; what is taken back is kept as it was; a trace without a session is one of its own."""
    (first,) = post(talks, PATH, label(satisfied=True, explanation="it lied"))["items"]
    assert first == {
        "kind": "session", "id": first["id"], "annotator": "ann", "service": "shop", "session_id": "one", "good": False,
        "satisfied": True, "situation": None, "explanation": "it lied", "withdrawn": False,
        "changed_at": "2026-11-20T10:09:46.000000Z",
    }  # fmt: skip
    assert post(talks, PATH, label(satisfied=True, explanation="it lied"))["changed"] == 0
    post(talks, PATH, label(satisfied=False), label(annotator="bob", good=True), label(service="desk"))
    (alone,) = post(talks, PATH, label(service="", session_id=ALONE.trace_id))["items"]
    assert (alone["service"], alone["session_id"]) == ("shop", ALONE.trace_id)
    listed = talks.get(PATH, session="one", service="shop")["items"]
    assert {(one["annotator"], one["good"], one["satisfied"]) for one in listed} == {
        ("ann", False, False), ("bob", True, None),
    }  # fmt: skip
    post(talks, PATH, label(good=True, withdrawn=True))
    assert [one["annotator"] for one in talks.get(PATH, session="one", service="shop")["items"]] == ["bob"]
    (gone,) = talks.get(PATH, annotator="ann", session="one", service="shop", withdrawn="true")["items"]
    assert (gone["good"], gone["satisfied"], gone["withdrawn"]) == (False, False, True)
    assert post(talks, PATH, label(withdrawn=True))["changed"] == 0


@pytest.mark.parametrize(
    ("changes", "status", "detail"),
    [
        ({"session_id": "three"}, 404, "no session 'three' of service 'shop' is stored"),
        ({"session_id": ALONE.trace_id, "service": "desk"}, 404,
         f"no session '{ALONE.trace_id}' of service 'desk' is stored"),
        ({"session_id": ONE.trace_id}, 404, f"no session '{ONE.trace_id}' of service 'shop' is stored"),
        ({"service": ""}, 422, "several services have such sessions, name one of them: 'desk', 'shop'"),
        ({"good": None}, 422, "items.good: must be true or false"),
        ({"satisfied": "rather"}, 422, "items.satisfied: must be true or false"),
        ({"situation": "null-response", "good": True}, 422, "a session in the situation null-response is bad"),
        ({"situation": "correct"}, 422, "a session in the situation correct is good"),
        ({"situation": "null-response", "satisfied": True}, 422,
         "in the situation null-response the user is dissatisfied"),
        ({"annotator": ""}, 422, "annotator is missing"),
        ({"better": "first"}, 422, "items: unknown parameter 'better'; there are: annotator, "),
    ],
)  # fmt: skip
def test_what_a_label_cannot_say(talks: Api, changes: dict[str, Any], status: int, detail: str) -> None:
    """In one line, and nothing of the request is kept."""
    code, told = post(talks, PATH, label(), label(**changes))
    assert code == status
    assert told.startswith(detail)
    assert talks.get(PATH)["items"] == []


def test_a_beginning_is_enough_where_one_session_begins_so(talks: Api) -> None:
    """To label it and to list its labels, as of two that are compared; also of a trace that is one of its own."""
    beginning = ALONE.trace_id[:31]
    said = [run(talks, "session", given, "--bad", "--service", "shop") for given in ("on", beginning)]
    assert [one.exit_code for one in said] == [0, 0]
    for given, whole in (("on", "one"), (beginning, ALONE.trace_id)):
        rows = json.loads(run(talks, "list", "--kind", "session-labels", "--session", given, "--format", "json").output)
        assert [one["session_id"] for one in rows] == [whole]
    assert "no session 'onerous'" in run(talks, "session", "onerous", "--bad").output
    exported = [json.loads(line) for line in run(talks, "export", "--session", "on").output.splitlines()]
    assert [one["session_id"] for one in exported] == ["one"]
    for given in ("on", beginning):
        told = run(talks, "delete", "--session", given, "--yes")
        assert (told.exit_code, f"no label is of {given}; " in told.stderr) == (2, True), told.stderr
    assert run(talks, "delete", "--session", "onerous", "--yes").stdout == "0 labels deleted\n"
    assert run(talks, "delete", "--session", ALONE.trace_id, "--yes").stdout == "1 label deleted\n"
    assert run(talks, "delete", "--session", ALONE.trace_id, "--yes").stdout == "0 labels deleted\n"
    store_all(talks.store, [Listed(5, session="once", received=NOW)])
    told = run(talks, "session", "on", "--bad").output
    assert "several sessions begin with 'on', give more of the id: once, one" in told
    assert run(talks, "list", "--kind", "session-labels", "--session", "on").exit_code == 2


def test_good_and_bad_together_are_refused(talks: Api) -> None:
    """In either order, so that none of the two is stored."""
    for said in (("--good", "--bad"), ("--bad", "--good"), ()):
        told = run(talks, "session", "one", *said, "--service", "shop")
        assert (told.exit_code, "say --good or --bad" in told.stderr) == (2, True)
    assert talks.get(PATH)["items"] == []


def test_labels_come_back_from_an_export(talks: Api) -> None:
    """A line needs no more than session and label; whatever the id, the same again changes nothing."""
    bare = {"kind": "session", "annotator": GENERATOR, "session_id": HOSTILE, "good": True, "situation": "correct"}
    sent = [bare, {"kind": "session"} | label(satisfied=None, session_id=ALONE.trace_id)]
    with ApiClient(talks.url) as client:
        assert client.import_labels([*sent, bare | {"good": "x"}], only_new=True).model_dump() == {
            "changed": 2, "unchanged": 0,
            "refused": [{"index": 2, "detail": "good: must be true or false"}],
        }  # fmt: skip
        post(talks, PATH, label(withdrawn=True))
        export = talks.client.get("/api/labels/export").content
        lines = [json.loads(line) for line in export.splitlines()]
        assert {(one["session_id"], one["good"], one["withdrawn"]) for one in lines} == {
            (HOSTILE, True, False), (ALONE.trace_id, False, False), ("one", False, True),
        }  # fmt: skip
        assert client.delete_labels({"session": HOSTILE}) == 1
        assert client.delete_labels({"annotator": "ann"}) == 2
        assert client.import_labels(lines, only_new=False).changed == 3
        assert client.import_labels(lines, only_new=False).changed == 0
    assert talks.client.get("/api/labels/export").content == export


def test_labels_go_with_the_traces_of_their_session_only_when_told(talks: Api) -> None:
    """Also those of a trace that is a session of its own; labels of other sessions stay."""
    post(talks, PATH, label(), label(service="desk"), label(session_id=ALONE.trace_id), label(session_id=HOSTILE))
    deleter = TraceDeleter(talks.store)
    deleter.delete([ODD.trace_id], NOW)
    assert len(talks.get(PATH)["items"]) == 4
    ids = [ONE.trace_id, ALONE.trace_id]
    assert deleter.count(ids, NOW, labels=True)["session_labels"] == 2
    deleter.delete(ids, NOW, labels=True)
    left = {(one["service"], one["session_id"]) for one in talks.get(PATH)["items"]}
    assert left == {("desk", "one"), ("shop", HOSTILE)}


def queue(api: Api, **asked: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = api.get("/api/labels/queue", purpose="sessions", **asked)["items"]
    return items


def drawn(api: Api, **asked: str) -> list[str]:
    return [one["session_id"] for one in queue(api, **asked)]


def test_the_queue_is_a_random_sample_of_what_nobody_has_labelled(api: Api) -> None:
    """In an order that is the same for all and continues; a share is asked of everybody; others are left out."""
    sessions = [f"talk-{n:02}" for n in range(40)]
    real = [Listed(n, session=session, received=NOW) for n, session in enumerate(sessions)]
    api.store.command("TRUNCATE TABLE traces")
    store_all(api.store, [
        *real,
        Listed(50, session="talk-00", received=NOW - SECOND),
        Listed(51, session="running", received=NOW), Listed(52, session="running", state=TraceState.OPEN, received=NOW),
        Listed(53, session="played", simulated=True, received=NOW),
        Listed(54, received=NOW),
        Listed(55, session="earlier", received=NOW - 100 * SECOND),
    ])  # fmt: skip
    since = "60s"
    order = drawn(api, since=since)
    assert sorted(order) == sorted([*sessions, Listed(54).trace_id])
    assert order != sorted(order)
    assert (drawn(api, since=since, limit="7"), drawn(api, since=since, annotator="ann")) == (order[:7], order)
    assert [one for one in queue(api, since=since) if one["session_id"] == "talk-00"] == [
        {"trace_id": None, "agent_run_id": None, "session_id": "talk-00", "service": "shop", "agent": "",
         "why": "drawn at random; 2 traces", "stratum": None, "probability": None}
    ]  # fmt: skip
    assert drawn(api, simulated="true") == ["played"]
    assert drawn(api, until="60s") == ["earlier"]
    assert "add --simulated" not in run(api, "queue", "--sessions", "--since", since).stderr
    labelled = order[:20]
    post(api, PATH, *(label(session_id=one) for one in labelled), label(session_id=order[30], annotator=GENERATOR))
    post(api, PATH, label(session_id=order[25]), label(session_id=order[25], withdrawn=True))
    assert drawn(api, since=since) == drawn(api, since=since, annotator="ann") == order[20:]
    both = drawn(api, since=since, annotator="bob", overlap="0.5")
    assert [one for one in both if one not in labelled] == order[20:]
    assert 0 < len(both) - 21 < 20
    assert both == [one for one in order if one in both]
    assert drawn(api, since=since, annotator="bob", overlap="1") == order
    assert drawn(api, service="desk") == []
    store_all(api.store, [Listed(56, session="played", service="desk", simulated=True, received=NOW)])
    hint = run(api, "queue", "--sessions", "--service", "desk")
    assert (hint.exit_code, "add --simulated" in hint.stderr) == (0, True)
    lost = run(api, "export", "/no/such/folder/labels.jsonl")
    assert (lost.exit_code, lost.stderr.count("\n")) == (1, 1)
    assert lost.stderr.startswith("tracejury: Could not open file '/no/such/folder/labels.jsonl'")


def test_the_commands(talks: Api) -> None:
    """They say, list, queue, withdraw and delete; an id of any text harms no terminal."""
    words = ("--bad", "--satisfied", "yes", "--situation", "trusted-wrong-fact", "--why", "it lied", "--as", "ann")
    said = run(talks, "session", HOSTILE, *words)
    assert said.exit_code == 0, said.output
    assert all(text not in said.output for text in ("\x1b", "\u202e"))
    contrary = ("session", "one", "--good", "--service", "desk", "--satisfied", "no", "--as", "ann")
    assert run(talks, *contrary).exit_code == 0
    listed = json.loads(run(talks, "list", "--kind", "session-labels", "--format", "json").output)
    assert {(one["session_id"], one["service"], one["good"], one["satisfied"]) for one in listed} == {
        (HOSTILE, "shop", False, True), ("one", "desk", True, False),
    }  # fmt: skip
    waiting = json.loads(run(talks, "queue", "--sessions", "--as", "ann", "--format", "json").output)
    assert {(one["service"], one["session_id"]) for one in waiting} == {("shop", "one"), ("shop", ALONE.trace_id)}
    assert "(withdrawn)" in run(talks, "session", HOSTILE, "--withdraw", "--as", "ann").output
    assert run(talks, "delete", "--session", "one", "--yes").output == "1 label deleted\n"
    assert "no session labels" in run(talks, "list", "--kind", "session-labels").output
    unknown = run(talks, "session", HOSTILE, "--bad", "--situation", "late")
    assert "'late' is no situation; they are: correct, wrong-tool-silent" in unknown.output
    for wrong in (["session", "one"], ["queue", "--sessions", "--for", "learning"]):
        assert run(talks, *wrong).exit_code == 2, wrong
