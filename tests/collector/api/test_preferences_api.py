"""`/api/preferences` and `tracejury labels compare`: which of two sessions people find better."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from label_items import post
from listed_traces import Listed, store_all
from measured_sessions import PACK, POLICY, STATES, a_value, of_session, save
from served_api import NOW, PLAIN, Api
from store_parts import a_judged_subject, a_span

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.root import root
from tracejury.collector.labels.checks import MAX_SESSION
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.schemas.annotations import Better, Preference
from tracejury.schemas.queries.measures import PackMeasure
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.simulation import USER_FAILED
from tracejury.schemas.verdicts import Subject, SubjectKind

HOSTILE = "a/../b'\"\\%2F;--\x1b[2J\u202e<b>\n"
LONG = "é" * MAX_SESSION
SESSIONS = ("one", "two", HOSTILE, LONG)
PATH = "/api/preferences"
TRACES = {session: Listed(n, session=session, received=NOW) for n, session in enumerate(SESSIONS)}


@pytest.fixture
def talks(api: Api) -> Api:
    """A service with four sessions, of which another service has one by the same id."""
    store_all(api.store, [*TRACES.values(), Listed(9, session="one", service="desk", received=NOW)])
    return api


def preferred(**changes: Any) -> dict[str, Any]:
    return {"annotator": "ann", "session_id": "two", "other_session_id": "one", "better": "first"} | changes


def test_a_pair_is_one_label_whichever_session_is_named_first(talks: Api) -> None:
    """In the order of their ids; the service is the one that has both; a new word replaces the old one."""
    (first,) = post(talks, PATH, preferred(explanation="it asked"))["items"]
    assert first == {
        "kind": "preference", "id": first["id"], "annotator": "ann", "service": "shop", "session_id": "one",
        "other_session_id": "two", "better": "second", "explanation": "it asked", "withdrawn": False,
        "changed_at": "2026-11-20T10:09:46.000000Z",
    }  # fmt: skip
    same = preferred(session_id="one", other_session_id="two", better="second", explanation="it asked")
    assert post(talks, PATH, same)["changed"] == 0
    post(talks, PATH, preferred(better="same"), preferred(annotator="bob"))
    said = {(one["annotator"], one["better"]) for one in talks.get(PATH)["items"]}
    assert said == {("ann", "same"), ("bob", "second")}
    post(talks, PATH, preferred(withdrawn=True))
    assert [one["annotator"] for one in talks.get(PATH)["items"]] == ["bob"]
    assert len(talks.get(PATH, withdrawn="true")["items"]) == 2


@pytest.mark.parametrize(
    ("changes", "status", "detail"),
    [
        ({"session_id": "one"}, 422, "a session cannot be compared with itself"),
        ({"session_id": "three"}, 404, "no session 'three' is stored"),
        ({"service": "desk"}, 404, "no session 'two' of service 'desk' is stored"),
        ({"session_id": ""}, 404, "no session '' is stored"),
        ({"session_id": "x" * 10_001}, 422, "session_id has 10,001 characters; at most 10,000 are taken"),
        ({"better": "left"}, 422, "items.better: must be 'first', 'second' or 'same'"),
        ({"annotator": ""}, 422, "annotator is missing"),
        ({"trace_id": PLAIN}, 422, "items: unknown parameter 'trace_id'; there are: annotator, "),
    ],
)
def test_what_a_preference_cannot_say(talks: Api, changes: dict[str, Any], status: int, detail: str) -> None:
    """In one line, and nothing of the request is kept."""
    found = post(talks, PATH, preferred(), preferred(**changes))
    assert (found[0], found[1][: len(detail)]) == (status, detail)
    assert talks.get(PATH)["items"] == []


def test_several_services_with_both_sessions_must_be_told_apart(talks: Api) -> None:
    store_all(talks.store, [Listed(8, session="two", service="desk", received=NOW)])
    detail = "several services have such sessions, name one of them: 'desk', 'shop'"
    assert post(talks, PATH, preferred()) == (422, detail)
    both = post(talks, PATH, preferred(service="shop"), preferred(service="desk"))
    assert both["changed"] == 2
    assert [one["service"] for one in talks.get(PATH, service="desk")["items"]] == ["desk"]


def test_ids_of_any_kind_come_back_from_an_export(talks: Api) -> None:
    """Slashes, quotes, control characters and 10,000 letters; by session, and not among the labels of a trace."""
    for a, b in (("one", HOSTILE), (HOSTILE, LONG), ("two", "one")):
        assert post(talks, PATH, preferred(session_id=a, other_session_id=b))["changed"] == 1, (a, b)
    export = talks.client.get("/api/labels/export").content
    lines = [json.loads(line) for line in export.splitlines()]
    assert {frozenset((one["session_id"], one["other_session_id"])) for one in lines} == {
        frozenset(("one", HOSTILE)), frozenset((HOSTILE, LONG)), frozenset(("one", "two")),
    }  # fmt: skip
    found = talks.get(PATH, session=HOSTILE, limit="1")
    more = talks.get(PATH, session=HOSTILE, limit="1", cursor=found["next"])
    assert len({one["id"] for page in (found, more) for one in page["items"]}) == 2
    assert more["next"] is None
    assert talks.client.get("/api/labels/export", params={"trace": PLAIN}).content == b""
    with ApiClient(talks.url) as client:
        assert client.delete_labels({"session": HOSTILE, "annotator": "bob"}) == 0
        assert client.delete_labels({"session": HOSTILE}) == 2
        assert client.delete_labels({"id": talks.get(PATH)["items"][0]["id"]}) == 1
        assert client.import_labels(lines, only_new=False).changed == 3
        assert client.import_labels(lines, only_new=False).changed == 0
    assert talks.client.get("/api/labels/export").content == export


def test_ids_that_look_alike_when_joined_are_different_pairs(talks: Api) -> None:
    """No delimiter within an id makes two labels one."""
    store_all(talks.store, [Listed(20 + n, session=s, received=NOW) for n, s in enumerate(("a", "b/c", "a/b", "c"))])
    pairs = [("a", "b/c"), ("a/b", "c")]
    assert post(talks, PATH, *(preferred(session_id=a, other_session_id=b) for a, b in pairs))["changed"] == 2
    assert len(talks.get(PATH)["items"]) == 2


def test_labels_of_a_session_go_with_its_traces_only_when_told(talks: Api) -> None:
    """As other labels do; those of other sessions, and of one by the same id in another service, stay."""
    post(talks, PATH, preferred(), preferred(session_id="two", other_session_id=HOSTILE))
    kept = Preference(annotator="x", service="desk", session_id="one", other_session_id="two", better=Better.SAME)
    talks.reader.labels.save([kept.identified()])
    deleter = TraceDeleter(talks.store)
    one = [TRACES["one"].trace_id]
    assert "preferences" not in deleter.count(one, NOW)
    assert deleter.count(one, NOW, labels=True)["preferences"] == 1
    deleter.delete([TRACES[LONG].trace_id], NOW)
    assert len(talks.get(PATH)["items"]) == 3
    deleter.delete(one, NOW, labels=True)
    left = talks.get(PATH)["items"]
    assert {(item["service"], item["session_id"]) for item in left} == {("desk", "one"), ("shop", HOSTILE)}


def run(api: Api, *args: str) -> Any:
    return CliRunner().invoke(root, ["labels", *args], env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})


def test_the_command(talks: Api) -> None:
    """It says, lists, withdraws and deletes; an id of any text harms no terminal."""
    said = run(talks, "compare", "two", HOSTILE, "--better", "first", "--as", "ann", "--why", "it asked")
    assert said.exit_code == 0, said.output
    assert "it asked" in said.output
    assert "\x1b" not in said.output
    assert "\u202e" not in said.output
    for given in (["two", "one"], ["two"]):
        assert run(talks, "compare", *given).exit_code == 2
    listed = json.loads(run(talks, "list", "--kind", "preferences", "--session", "two", "--format", "json").output)
    assert [(one["annotator"], one["better"]) for one in listed] == [("ann", "second")]
    assert "no session 'tx'" in run(talks, "compare", "tx", "one", "--better", "same").output
    assert "two" in run(talks, "compare", "tw", HOSTILE, "--better", "first", "--as", "ann").output
    assert "(withdrawn)" in run(talks, "compare", HOSTILE, "two", "--withdraw", "--as", "ann").output
    assert "no preferences" in run(talks, "list", "--kind", "preferences").output
    assert run(talks, "delete", "--session", "two", "--yes").output == "1 label deleted\n"
    assert run(talks, "list", "--kind", "preferences", "--trace", PLAIN).exit_code == 2


def test_agreement_of_measures_with_preferences(talks: Api) -> None:
    """Of each measure of a pack, its average, and the mean score of a judge; an invalid session has no measures.

    Nor has one whose user's model failed.
    """
    validates = PackMeasure("V", "demo-valid", "Valid user", "Whether the user kept to the task.", validates=True)
    talks.packs.append(replace(PACK, measures=(*PACK.measures, validates)))
    values = {
        "one": (0.2, 0.9, 1), "two": (0.8, 0.5, 1), HOSTILE: (0.8, None, 1), LONG: (0.1, 0.1, 0), "lost": (0.9, 0.9, 1)
    }  # fmt: skip
    lost = Listed(30, session="lost", received=NOW)
    store_all(talks.store, [lost])
    span = a_span(trace_id=lost.trace_id, attributes={USER_FAILED: "true"})
    talks.store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW))
    for session, (states, policy, valid) in values.items():
        whole = of_session("shop", session)
        told = [a_value(STATES, whole, states), a_value(POLICY, whole, policy), a_value("demo-valid", whole, valid)]
        save(talks.store, *told, received=NOW)
    scores = {"one": (0, 1), "two": (3,), HOSTILE: (2,)}
    StoredLlmJudging(talks.store).save(
        [
            a_judged_subject(
                "goal-fulfilment", judged_at=1, received=NOW, score=score,
                subject=Subject(SubjectKind.AGENT_RUN, f"run-{n}", TRACES[session].trace_id),
            )
            for session, own in scores.items()
            for n, score in enumerate(own)
        ]
    )  # fmt: skip
    post(
        talks, PATH,
        preferred(), preferred(annotator="bob"), preferred(annotator="eve", better="second"),  # two before one
        preferred(other_session_id=HOSTILE, better="same"),
        preferred(session_id=LONG, other_session_id=HOSTILE), preferred(session_id="one", other_session_id=LONG),
        preferred(session_id="lost", other_session_id=HOSTILE),
        preferred(session_id="one", other_session_id=HOSTILE, annotator="bob", better="first"),
        preferred(session_id="one", other_session_id=HOSTILE, annotator="ann", better="second"),  # contested
    )  # fmt: skip
    page = talks.get("/api/labels/agreement")
    assert (page["pairs"], page["same"], page["contested"], page["next"]) == (6, 1, 1, None)
    assert page["people"]["value"] == pytest.approx((1 / 3 + 0) / 2)
    found = {(one["pack"], one["letter"]): one for one in page["items"]}
    assert {
        at: (one["pairs"], one["concordant"], one["discordant"], one["both_tied"]) for at, one in found.items()
    } == {
        ("demo", "S"): (2, 1, 0, 1),
        ("demo", "P"): (1, 0, 1, 0),
        ("demo", "V"): (2, 0, 0, 1),
        ("demo", "AVG"): (2, 1, 0, 0),
        (None, "goal-fulfilment"): (2, 1, 0, 0),
    }
    assert found["demo", "S"]["agreement"]["value"] == found["demo", "S"]["decided"]["value"] == 1
    assert found["demo", "V"]["decided"] is None
    assert talks.get("/api/labels/agreement", service="desk")["pairs"] == 0
    assert talks.get("/api/labels/agreement", until="1h")["pairs"] == 0
    page_text = talks.client.get("/labels").text
    for text in ("6 pairs of sessions compared", "1 contested", "demo AVG", "Agrees with people"):
        assert text in page_text
    shown = run(talks, "agreement").output
    for text in ("6 pairs of sessions compared; neither better: 1; contested", "demo AVG", "goal-fulfilment", "100%"):
        assert text in shown
    assert "nobody has compared sessions" in run(talks, "agreement", "--service", "desk").output
