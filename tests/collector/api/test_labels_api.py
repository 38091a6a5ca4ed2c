"""`/api/annotations`, `/api/human-scores`, `/api/reviews`, the queue and quality: what people say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from label_items import FINDING, agree, missed, post, review, score
from served_api import KNOWN, NOW, PLAIN, QUIET, SECOND, SPAN, Api
from store_parts import a_judged_trace, a_run

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.root import root
from tracejury.collector.labels.checks import MAX_CATEGORY, MAX_NAME, MAX_TEXT
from tracejury.collector.store.judging import StoredJudging
from tracejury.schemas.annotations import opinion_id
from tracejury.schemas.findings import FindingState


def test_an_opinion_in_full(labelled: Api) -> None:
    """Who, what and of what: all that follows from the finding is filled in."""
    page = post(labelled, "/api/annotations", agree(explanation="so it is"))
    (item,) = page["items"]
    assert page["changed"] == 1
    assert item == {
        "kind": "annotation", "id": opinion_id("", "ann", FINDING.id), "opinion": "agree", "annotator": "ann",
        "trace_id": KNOWN, "span_id": SPAN, "agent_run_id": "run", "finding_id": FINDING.id, "judge": "rule",
        "fingerprint": "fp", "taxonomy": "trail", "category": "Formatting Errors", "severity": "MEDIUM",
        "evidence": "quote", "explanation": "so it is", "withdrawn": False, "changed_at": "2026-11-20T10:09:46.000000Z",
    }  # fmt: skip
    assert labelled.get("/api/annotations") == {"items": [item], "next": None, "unknown": {}}


def test_one_opinion_a_person_and_finding(labelled: Api) -> None:
    """Changing one's mind replaces it, the same again changes nothing, and others have theirs."""
    assert post(labelled, "/api/annotations", agree())["changed"] == 1
    assert post(labelled, "/api/annotations", agree())["changed"] == 0
    changed = post(labelled, "/api/annotations", agree(opinion="other-span", span_id=QUIET))
    assert (changed["changed"], changed["items"][0]["span_id"]) == (1, QUIET)
    post(labelled, "/api/annotations", agree(annotator="bob"))
    said = {(i["annotator"], i["opinion"]) for i in labelled.get("/api/annotations")["items"]}
    assert said == {("ann", "other-span"), ("bob", "agree")}


def test_a_later_change_is_later_whatever_the_clock_says(labelled: Api) -> None:
    """Two changes within one reading of the clock are still in order."""
    (first,) = post(labelled, "/api/annotations", agree())["items"]
    (second,) = post(labelled, "/api/annotations", agree(opinion="disagree"))["items"]
    assert first["changed_at"] < second["changed_at"]


def test_what_is_withdrawn_stays_withdrawn(labelled: Api) -> None:
    """It is listed only on demand; an older change from elsewhere does not bring it back, a new opinion does."""
    (item,) = post(labelled, "/api/annotations", agree())["items"]
    gone = labelled.client.request("DELETE", f"/api/annotations/{item['id']}", json={}).json()
    assert (gone["withdrawn"], gone["id"]) == (True, item["id"])
    assert labelled.get("/api/annotations")["items"] == []
    assert labelled.get("/api/annotations", withdrawn="true")["items"] == [gone]
    assert post(labelled, "/api/labels/import", item) == {"changed": 0, "unchanged": 1, "refused": []}
    assert labelled.get("/api/annotations")["items"] == []
    post(labelled, "/api/annotations", agree())
    assert [i["withdrawn"] for i in labelled.get("/api/annotations")["items"]] == [False]


def test_a_missed_error(labelled: Api) -> None:
    """It has an id that follows from annotator, span and category; severity is medium unless said."""
    first = post(labelled, "/api/annotations", missed())["items"][0]
    again = post(labelled, "/api/annotations", missed(severity="HIGH", category="goal deviation"))["items"][0]
    assert (first["id"], first["severity"], first["finding_id"]) == (again["id"], "MEDIUM", None)
    assert [i["severity"] for i in labelled.get("/api/annotations")["items"]] == ["HIGH"]
    own = post(labelled, "/api/annotations", missed(id="mine-1"))["items"][0]
    assert own["id"] == "mine-1"


def test_an_id_belongs_to_its_annotator(labelled: Api) -> None:
    """Nobody overwrites what somebody else marked under that id."""
    post(labelled, "/api/annotations", missed(id="mine-1"))
    status, detail = post(labelled, "/api/annotations", missed(id="mine-1", annotator="bob"))
    assert (status, detail) == (422, "'mine-1' is what 'ann' said; 'bob' cannot change it")


GOOD = {"annotations": missed(), "human-scores": score(), "reviews": review()}
BAD = [
    (agree(finding_id="f" * 32), 404, "no finding 'ffffffffffffffffffffffffffffffff' is stored"),
    (agree(finding_id=""), 422, "an opinion other than missed needs finding_id"),
    (agree(trace_id=PLAIN), 422, f"finding {FINDING.id} is of trace {KNOWN}, not of '{PLAIN}'"),
    (agree(span_id=QUIET), 422, f"finding {FINDING.id} is at span {SPAN}; another one takes other-span"),
    (agree(opinion="other-span"), 422, "other-span needs the span_id where the error was made, another than found"),
    (agree(opinion="other-span", span_id="3" * 16), 404, f"no span '{'3' * 16}' of trace '{KNOWN}' is stored"),
    (agree(annotator=" "), 422, "annotator is missing"),
    (agree(annotator="a" * (MAX_NAME + 1)), 422, "annotator has 101 characters; at most 100 are taken"),
    (agree(annotator="a\x1b[2Jb"), 422, "annotator 'a\\x1b[2Jb' holds characters that cannot be printed"),
    (agree(annotator="a\u202eb"), 422, "annotator 'a\\u202eb' holds characters that cannot be printed"),
    (agree(opinion="perhaps"), 422, "items.opinion: must be 'agree', 'disagree', 'other-span' or 'missed'"),
    (agree(colour="red"), 422, "items: unknown parameter 'colour'; there are: annotator, "),
    (agree(explanation="x" * (MAX_TEXT + 1)), 422, "explanation has 5,001 characters; at most 5,000 are taken"),
    (missed(span_id="3" * 16), 404, f"no span '{'3' * 16}' of trace '{KNOWN}' is stored"),
    (missed(trace_id=""), 422, "a missed error needs trace_id, span_id and category"),
    (missed(category=""), 422, "category is missing"),
    (missed(category="Rudeness"), 422, "'Rudeness' is no category of TRAIL"),
    (missed(category="x" * (MAX_CATEGORY + 1), taxonomy="own"), 422, "category has 201 characters"),
    (missed(id=".."), 422, "id '..' cannot stand in an address"),
    (missed(severity="high"), 422, "items.severity: must be 'LOW', 'MEDIUM' or 'HIGH'"),
    (missed(changed_at="soon"), 422, "changed_at: 'soon' is no point in time"),
    (missed(changed_at="2100-01-01"), 422, "changed_at lies in the future"),
    (missed(trace_id="f" * 101), 422, "trace_id has 101 characters; at most 100 are taken"),
    (score(score=4), 422, "score 4 is not one of 0 to 3 (3 best), or none"),
    (score(score=-1), 422, "score -1 is not one of 0 to 3 (3 best), or none"),
    (score(score=1.5), 422, "items.score: "),
    (score(score=True), 422, "items.score: true and false are no numbers"),
    (score(dimension="XX"), 422, "items.dimension: "),
    (score(agent_run_id="other"), 404, f"trace {KNOWN} has no agent run 'other'"),
    (score(trace_id="f" * 32), 404, f"no trace '{'f' * 32}' is stored"),
    (score(trace_id=PLAIN), 422, f"trace {PLAIN} has 0 managers: name the agent run"),
    (
        review(stratum="x"),
        422,
        "a review that the queue drew has both a stratum and a probability, others have neither",
    ),
    (review(stratum="x", probability=1.5), 422, "probability 1.5 is not one of 0 to 1"),
    (review(probability=-0.5), 422, "probability -0.5 is not one of 0 to 1"),
]


@pytest.mark.parametrize(("item", "status", "detail"), BAD)
def test_what_a_label_cannot_say(labelled: Api, item: dict[str, Any], status: int, detail: str) -> None:
    """Each with one clear line, and nothing of the request is kept."""
    kind = "annotations" if "opinion" in item else "human-scores" if "dimension" in item else "reviews"
    found = post(labelled, f"/api/{kind}", GOOD[kind], item)
    assert (found[0], found[1][: len(detail)]) == (status, detail)
    assert "\n" not in found[1]
    assert labelled.get(f"/api/{kind}")["items"] == []


def test_other_taxonomies_have_categories_of_their_own(labelled: Api) -> None:
    """Free text of bounded length."""
    (item,) = post(labelled, "/api/annotations", missed(taxonomy="own", category="Rudeness ✗"))["items"]
    assert (item["taxonomy"], item["category"]) == ("own", "Rudeness ✗")


def test_requests_are_bounded(labelled: Api) -> None:
    """None, too many, too large, and no body at all: each is refused in one line."""
    assert post(labelled, "/api/annotations")[0] == 422
    assert post(labelled, "/api/annotations", *[agree()] * 101)[0] == 422
    assert post(labelled, "/api/annotations", agree(explanation="x" * 1_000_000))[0] == 413
    answer = labelled.client.post("/api/annotations", content=b"{", headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["detail"]) == (422, "the body is not valid JSON")


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\x1b[2J", "\u202egnp.exe", "\x00", "a\nb", "😀" * 5_000]
)
def test_hostile_text_is_kept_as_it_is(labelled: Api, text: str) -> None:
    """An explanation may quote anything; whoever shows it makes it safe."""
    (item,) = post(labelled, "/api/annotations", missed(explanation=text, evidence=text))["items"]
    assert (item["explanation"], item["evidence"]) == (text, text)
    assert labelled.get("/api/annotations")["items"] == [item]


def test_half_a_character_is_refused(labelled: Api) -> None:
    """JSON can write what is no text: one line, and no crash."""
    body = json.dumps({"items": [missed(explanation="\ud800")]}).encode()
    answer = labelled.client.post("/api/annotations", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert "explanation" in answer.json()["detail"]


def test_scores(labelled: Api) -> None:
    """Of a run, by default of the trace's manager; another one replaces it."""
    (item,) = post(labelled, "/api/human-scores", score())["items"]
    assert item == {
        "kind": "score", "annotator": "ann", "trace_id": KNOWN, "agent_run_id": "run-1", "dimension": "GF", "score": 2,
        "explanation": "", "withdrawn": False, "changed_at": "2026-11-20T10:09:46.000000Z",
    }  # fmt: skip
    post(labelled, "/api/human-scores", score(score=None), score(agent_run_id="run-2"))
    found = {(i["agent_run_id"], i["score"]) for i in labelled.get("/api/human-scores")["items"]}
    assert found == {("run-1", None), ("run-2", 2)}


def test_reviews(labelled: Api) -> None:
    """With what the queue gave."""
    drawn = {"stratum": "clean/-/svc", "probability": 0.5}
    (item,) = post(labelled, "/api/reviews", review(agent_run_id="run-2", **drawn))["items"]
    assert item == {
        "kind": "review", "annotator": "ann", "trace_id": KNOWN, "agent_run_id": "run-2", "withdrawn": False,
        "changed_at": "2026-11-20T10:09:46.000000Z", **drawn,
    }  # fmt: skip
    assert labelled.get("/api/reviews")["items"] == [item]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_pages_cover_everything_once(labelled: Api, count: int) -> None:
    """Latest change first, page by page of two."""
    post(labelled, "/api/annotations", *[missed(id=str(n)) for n in range(count)]) if count else None
    seen: list[str] = []
    cursor = ""
    while True:
        page = labelled.get("/api/annotations", limit="2", **({"cursor": cursor} if cursor else {}))
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"] or ""
        if not cursor:
            break
    assert sorted(seen) == [str(n) for n in range(count)]


def test_filters(labelled: Api) -> None:
    """By what it is about and by whom; what nothing fits is an empty list."""
    post(labelled, "/api/annotations", agree(), missed(annotator="bob"))
    for filters, names in (
        ({"annotator": "ann"}, ["ann"]),
        ({"opinion": "missed"}, ["bob"]),
        ({"span": QUIET}, ["bob"]),
        ({"finding": FINDING.id}, ["ann"]),
        ({"judge": "rule"}, ["ann"]),
        ({"category": "Goal Deviation"}, ["bob"]),
        ({"trace": PLAIN}, []),
        ({"run": "run"}, ["ann"]),
    ):
        assert [i["annotator"] for i in labelled.get("/api/annotations", **filters)["items"]] == names


def put_runs(api: Api, *run_ids: str) -> None:
    """The trace, judged without a finding, with these runs."""
    judged = a_judged_trace(
        trace_id=KNOWN, service="svc", received=NOW, judged_at=NOW + SECOND, runs=tuple(a_run(id=i) for i in run_ids),
        received_through=NOW, retracted=(replace(FINDING, state=FindingState.RETRACTED),),
    )  # fmt: skip
    StoredJudging(api.store).save([judged])


def test_the_queue(labelled: Api) -> None:
    """What the annotator has not reviewed, with what the review needs; disputes have no stratum."""
    put_runs(labelled, "run-1", "run-2")
    first, second = labelled.get("/api/labels/queue", annotator="ann")["items"]
    assert {first["agent_run_id"], second["agent_run_id"]} == {"run-1", "run-2"}
    assert (first["stratum"], first["probability"]) == ("clean/-/svc", 1.0)
    given = {key: first[key] for key in ("trace_id", "agent_run_id", "stratum", "probability")}
    post(labelled, "/api/reviews", {"annotator": "ann", **given})
    assert labelled.get("/api/labels/queue", annotator="ann")["items"] == [second]
    labelled.put(replace(FINDING, id="d" * 32, agent_run_id="run-2"))
    post(labelled, "/api/annotations", agree(finding_id="d" * 32, opinion="disagree"))
    (dispute,) = labelled.get("/api/labels/queue", purpose="learning")["items"]
    assert ("ann" in dispute["why"], dispute["stratum"], dispute["probability"]) == (True, None, None)


def test_quality(labelled: Api) -> None:
    """Each judge's figures, null where nothing tells, and the strata."""
    (opinion,) = post(labelled, "/api/annotations", agree())["items"]
    assert opinion["opinion"] == "agree"
    page = labelled.get("/api/labels/quality")
    (judge,) = page["items"]
    assert (judge["judge"], judge["findings"], judge["agreed"], judge["recall"]) == ("rule", 1, 1, None)
    assert judge["precision"]["value"] == 1.0
    assert page["strata"] == [{"name": "found/-/svc", "size": 1, "reviewed": 0, "waiting": 0}]


@pytest.mark.parametrize("path", ["annotations", "human-scores", "reviews", "labels/queue", "labels/quality"])
def test_an_unknown_service_comes_with_the_known_ones(labelled: Api, path: str) -> None:
    """Where nothing was found; the answer is none the less one."""
    labelled.reader.unknown = {"nope": ["shop", "svc"]}
    assert labelled.get(f"/api/{path}", service="nope")["unknown"] == {"service": ["shop", "svc"]}
    assert labelled.get(f"/api/{path}", service="shop")["unknown"] == {}
    assert labelled.get(f"/api/{path}")["unknown"] == {}


@pytest.mark.parametrize(
    "command",
    [["queue"], ["list"], ["list", "--kind", "human-scores"], ["list", "--kind", "reviews"], ["quality"], ["export"]],
)
def test_a_command_refuses_an_unknown_service(labelled: Api, command: list[str]) -> None:
    """As `errors --service` does."""
    labelled.reader.unknown = {"nope": ["shop", "svc"]}
    refused = CliRunner().invoke(root, ["labels", *command, "--service", "nope", "--url", labelled.url])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "no service 'nope' is stored; known are: shop, svc" in refused.stderr
    assert CliRunner().invoke(root, ["labels", *command, "--service", "shop", "--url", labelled.url]).exit_code == 0


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("/api/annotations", {"opinion": "agree", "finding_id": FINDING.id}),
        ("/api/human-scores", {"trace_id": KNOWN, "dimension": "GF", "score": 1}),
        ("/api/reviews", {"trace_id": KNOWN}),
    ],
)
@pytest.mark.parametrize("when", ["1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "0001-01-01"])
def test_nothing_was_said_before_1970(labelled: Api, path: str, item: dict[str, Any], when: str) -> None:
    """Such a time is refused: it does not mean now."""
    refused = post(labelled, path, item | {"annotator": "ann", "changed_at": when})
    assert refused == (422, f"changed_at: {when!r} lies before 1970")


@pytest.mark.parametrize("name", ["a/b", "a b", "?x=1#y", "ä%2F", "...", "x" * MAX_NAME])
def test_any_id_can_be_withdrawn(labelled: Api, name: str) -> None:
    """Ids of elsewhere hold what they hold."""
    post(labelled, "/api/annotations", missed(id=name))
    with ApiClient(labelled.url) as client:
        assert (client.withdraw_annotation(name).id, labelled.get("/api/annotations")["items"]) == (name, [])


def test_an_id_of_several_traces_is_withdrawn_of_one(labelled: Api) -> None:
    """Which one must be said; the other stays."""
    labelled.put(replace(FINDING, id="e" * 32, trace_id=PLAIN))
    post(labelled, "/api/annotations", missed(id="own"), missed(id="own", trace_id=PLAIN))
    answer = labelled.client.request("DELETE", "/api/annotations/own", json={})
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "several traces have an annotation 'own': name the trace",
    )
    with ApiClient(labelled.url) as client:
        assert client.withdraw_annotation("own", KNOWN).trace_id == KNOWN
    assert [a["trace_id"] for a in labelled.get("/api/annotations")["items"]] == [PLAIN]


@pytest.mark.parametrize("path", ["/api/labels/queue", "/api/labels/quality"])
@pytest.mark.parametrize("given", [{"since": "1h", "until": "2h"}, {"since": "9999-01-01"}])
def test_a_time_that_ends_before_it_begins(labelled: Api, path: str, given: dict[str, str]) -> None:
    """Is refused rather than empty."""
    refused = labelled.get(path, **given)
    assert refused == (422, "the time ends before it begins: until must lie after since")


def test_nobody_withdraws_what_is_not_there(labelled: Api) -> None:
    """404 with one line."""
    answer = labelled.client.request("DELETE", "/api/annotations/none", json={})
    assert (answer.status_code, answer.json()["detail"]) == (404, "no annotation 'none' is stored")
