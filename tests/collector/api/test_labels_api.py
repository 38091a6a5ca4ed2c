"""`/api/annotations`, `/api/scores`, `/api/reviews` and `/api/labels/*`: what people say, over memory."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from memory_api import KNOWN, NOW, PLAIN, QUIET, SPAN, Api, finding
from memory_labels import MemoryRun
from store_parts import a_run

from tracejury.collector.cli.root import root
from tracejury.collector.client import Client
from tracejury.collector.client_labels import bring, forget, withdraw
from tracejury.collector.label_checks import MAX_CATEGORY, MAX_NAME, MAX_TEXT
from tracejury.collector.label_lines import pages, read_lines
from tracejury.collector.labels import QueueItem
from tracejury.judges.measures.quality import LabelledRun
from tracejury.schemas.annotations import opinion_id
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.trajectory import Trace, TraceState

FINDING = finding(1)


@pytest.fixture
def labelled(api: Api) -> Api:
    """A trace with one finding and two agent runs, of which one is the manager."""
    api.reader.labels.found = {FINDING.id: FINDING}
    runs = (a_run(id="run-1"), a_run(id="run-2", parent_id="run-1", role="sub-agent"))
    api.reader.rebuilt[KNOWN] = Trace(KNOWN, "", "svc", "", TraceState.SETTLED, runs, {}, ())
    return api


def post(api: Api, path: str, *items: Mapping[str, Any], **more: Any) -> Any:
    """The JSON, or status and detail of a refusal."""
    answer = api.client.post(path, json={"items": list(items), **more})
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["detail"])


def agree(**changes: Any) -> dict[str, Any]:
    return {"annotator": "ann", "opinion": "agree", "finding_id": FINDING.id} | changes


def missed(**changes: Any) -> dict[str, Any]:
    item = {"annotator": "ann", "opinion": "missed", "trace_id": KNOWN, "span_id": QUIET, "category": "Goal Deviation"}
    return item | changes


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
    assert labelled.get("/api/annotations") == {"items": [item], "next": None}


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
    (agree(opinion="perhaps"), 422, "items.opinion: Input should be 'agree', 'disagree', 'other-span' or 'missed'"),
    (agree(colour="red"), 422, "unknown parameter 'items.colour'"),
    (agree(explanation="x" * (MAX_TEXT + 1)), 422, "explanation has 5,001 characters; at most 5,000 are taken"),
    (missed(span_id="3" * 16), 404, f"no span '{'3' * 16}' of trace '{KNOWN}' is stored"),
    (missed(trace_id=""), 422, "a missed error needs trace_id, span_id and category"),
    (missed(category=""), 422, "category is missing"),
    (missed(category="Rudeness"), 422, "'Rudeness' is no category of TRAIL"),
    (missed(category="x" * (MAX_CATEGORY + 1), taxonomy="own"), 422, "category has 201 characters"),
    (missed(id=".."), 422, "id '..' cannot stand in an address"),
    (missed(severity="high"), 422, "items.severity: Input should be 'LOW', 'MEDIUM' or 'HIGH'"),
    (missed(changed_at="soon"), 422, "changed_at: 'soon' is no point in time"),
    (missed(changed_at="2100-01-01"), 422, "changed_at lies in the future"),
]


@pytest.mark.parametrize(("item", "status", "detail"), BAD)
def test_what_a_label_cannot_say(labelled: Api, item: dict[str, Any], status: int, detail: str) -> None:
    """Each with one clear line, and nothing of the request is kept."""
    found = post(labelled, "/api/annotations", missed(), item)
    assert (found[0], found[1][: len(detail)]) == (status, detail)
    assert "\n" not in found[1]
    assert labelled.get("/api/annotations")["items"] == []


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
    score = {"annotator": "ann", "trace_id": KNOWN, "dimension": "GF", "score": 2}
    (item,) = post(labelled, "/api/scores", score)["items"]
    assert item == {
        "kind": "score", "annotator": "ann", "trace_id": KNOWN, "agent_run_id": "run-1", "dimension": "GF", "score": 2,
        "explanation": "", "withdrawn": False, "changed_at": "2026-11-20T10:09:46.000000Z",
    }  # fmt: skip
    post(labelled, "/api/scores", score | {"score": None}, score | {"agent_run_id": "run-2"})
    found = {(i["agent_run_id"], i["score"]) for i in labelled.get("/api/scores")["items"]}
    assert found == {("run-1", None), ("run-2", 2)}


@pytest.mark.parametrize(
    ("changes", "status", "detail"),
    [
        ({"score": 4}, 422, "score 4 is not one of 0 to 3 (3 best), or none"),
        ({"score": -1}, 422, "score -1 is not one of 0 to 3 (3 best), or none"),
        ({"score": 1.5}, 422, "items.score: "),
        ({"score": True}, 422, "items.score: true and false are no numbers"),
        ({"dimension": "XX"}, 422, "items.dimension: "),
        ({"agent_run_id": "other"}, 404, f"trace {KNOWN} has no agent run 'other'"),
        ({"trace_id": "f" * 32}, 404, f"no trace '{'f' * 32}' is stored"),
        ({"trace_id": PLAIN}, 422, f"trace {PLAIN} has 0 managers: name the agent run"),
    ],
)
def test_what_a_score_cannot_say(labelled: Api, changes: dict[str, Any], status: int, detail: str) -> None:
    """One line, nothing kept."""
    score = {"annotator": "ann", "trace_id": KNOWN, "dimension": "GF", "score": 2}
    found = post(labelled, "/api/scores", score | changes)
    assert (found[0], found[1][: len(detail)]) == (status, detail)
    assert labelled.get("/api/scores")["items"] == []


def test_reviews(labelled: Api) -> None:
    """With what the queue gave, or with neither."""
    review = {"annotator": "ann", "trace_id": KNOWN, "agent_run_id": "run-2"}
    drawn = {"stratum": "clean/-/svc", "probability": 0.5}
    (item,) = post(labelled, "/api/reviews", review | drawn)["items"]
    assert item == {
        "kind": "review", "annotator": "ann", "trace_id": KNOWN, "agent_run_id": "run-2", "withdrawn": False,
        "changed_at": "2026-11-20T10:09:46.000000Z", **drawn,
    }  # fmt: skip
    assert labelled.get("/api/reviews")["items"] == [item]
    half = post(labelled, "/api/reviews", review | {"stratum": "x"})
    assert half[1] == "a review that the queue drew has both a stratum and a probability, others have neither"
    assert post(labelled, "/api/reviews", review | {"stratum": "x", "probability": 1.5})[0] == 422


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


def test_the_queue(labelled: Api) -> None:
    """What the annotator has not reviewed, with what the review needs; disputes have no stratum."""
    labels = labelled.reader.labels
    labels.runs = [MemoryRun(KNOWN, "run-1", arrived=NOW), MemoryRun(KNOWN, "run-2", arrived=NOW)]
    labels.disputes = [QueueItem(KNOWN, "run-2", "svc", "agent", "ann disagrees")]
    first, second = labelled.get("/api/labels/queue", annotator="ann")["items"]
    assert {first["agent_run_id"], second["agent_run_id"]} == {"run-1", "run-2"}
    assert (first["stratum"], first["probability"]) == ("clean/-/svc", 1.0)
    given = {key: first[key] for key in ("trace_id", "agent_run_id", "stratum", "probability")}
    post(labelled, "/api/reviews", {"annotator": "ann", **given})
    assert labelled.get("/api/labels/queue", annotator="ann")["items"] == [second]
    (dispute,) = labelled.get("/api/labels/queue", purpose="learning")["items"]
    assert (dispute["why"], dispute["stratum"], dispute["probability"]) == ("ann disagrees", None, None)


def test_quality(labelled: Api) -> None:
    """Each judge's figures, null where nothing tells, and the strata."""
    (opinion,) = post(labelled, "/api/annotations", agree())["items"]
    assert opinion["opinion"] == "agree"
    annotation = next(iter(labelled.reader.labels.kept_annotations.values()))
    labelled.reader.labels.labelled_runs = [LabelledRun((FINDING,), (annotation,), reviewed=False, judges=frozenset())]
    labelled.reader.labels.runs = [MemoryRun(KNOWN, "run-1", arrived=NOW)]
    page = labelled.get("/api/labels/quality")
    (judge,) = page["items"]
    assert (judge["judge"], judge["findings"], judge["agreed"], judge["recall"]) == ("rule", 1, 1, None)
    assert judge["precision"]["value"] == 1.0
    assert page["strata"] == [{"name": "clean/-/svc", "size": 1, "reviewed": 0, "waiting": 0}]


def test_an_export_is_what_an_import_takes(labelled: Api) -> None:
    """Everything, withdrawn too, one JSON object a line; the import of it elsewhere leads to the same export."""
    (item,) = post(labelled, "/api/annotations", agree())["items"]
    labelled.client.request("DELETE", f"/api/annotations/{item['id']}", json={})
    post(labelled, "/api/annotations", agree(annotator="bob", opinion="other-span", span_id=QUIET), missed())
    post(labelled, "/api/scores", {"annotator": "ann", "trace_id": KNOWN, "dimension": "GF", "score": None})
    post(labelled, "/api/reviews", {"annotator": "ann", "trace_id": KNOWN, "stratum": "s", "probability": 0.5})
    answer = labelled.client.get("/api/labels/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.content.splitlines()]
    assert sorted(line["kind"] for line in lines) == ["annotation"] * 3 + ["review", "score"]
    labels = labelled.reader.labels
    for kept in (labels.kept_annotations, labels.kept_scores, labels.kept_reviews):
        kept.clear()
    assert post(labelled, "/api/labels/import", *lines) == {"changed": 5, "unchanged": 0, "refused": []}
    assert labelled.client.get("/api/labels/export").text == answer.text
    assert post(labelled, "/api/labels/import", *lines) == {"changed": 0, "unchanged": 5, "refused": []}


def test_the_longest_label_is_a_line_of_an_import(labelled: Api) -> None:
    """Texts in which each character takes the most bytes that JSON may need, and names of as many as they may have."""
    text, wide = "\x01" * MAX_TEXT, "\U0001f600" * MAX_NAME
    whole = agree(
        annotator=wide, finding_id="e" * MAX_NAME, trace_id=KNOWN, span_id=SPAN, judge=wide, agent_run_id=wide,
        taxonomy=wide, category="\U0001f600" * MAX_CATEGORY, evidence=text, explanation=text, fingerprint=wide,
    )  # fmt: skip
    assert post(labelled, "/api/annotations", whole)["changed"] == 1
    exported = labelled.client.get("/api/labels/export").content
    (page,) = pages(read_lines("file", io.BytesIO(exported), ""))
    assert page[0].problem == ""
    labelled.reader.labels.kept_annotations.clear()
    with Client(labelled.url) as client:
        assert bring(client, [line.item for line in page], only_new=False)["changed"] == 1
    assert labelled.client.get("/api/labels/export").content == exported


def test_a_line_that_does_not_fit_is_refused_alone(labelled: Api) -> None:
    """Each by its place in the request; the others are taken."""
    lines: list[dict[str, Any]] = [
        missed(), {"kind": "poem"}, missed(category="Rudeness"), {}, agree(finding_id="f" * 32), {"kind": "score"},
    ]  # fmt: skip
    found = post(labelled, "/api/labels/import", *lines)
    assert (found["changed"], [r["index"] for r in found["refused"]]) == (1, [1, 2, 3, 4, 5])
    assert all(r["detail"] and "\n" not in r["detail"] for r in found["refused"])


def test_an_opinion_on_a_finding_of_elsewhere_hangs_on_its_span(labelled: Api) -> None:
    """Another version's finding is not stored here, but the span is; its fingerprint follows from the rest."""
    whole = agree(finding_id="e" * 32, trace_id=KNOWN, span_id=SPAN, category="Formatting Errors", judge="other-rule")
    (item,) = post(labelled, "/api/annotations", whole)["items"]
    assert (item["judge"], item["finding_id"], len(item["fingerprint"])) == ("other-rule", "e" * 32, 32)


def test_only_new_leaves_alone_what_was_said(labelled: Api) -> None:
    """Annotations without a time of change never override what anybody said since, withdrawn included."""
    (item,) = post(labelled, "/api/annotations", missed())["items"]
    labelled.client.request("DELETE", f"/api/annotations/{item['id']}", json={})
    assert post(labelled, "/api/labels/import", missed(), only_new=True)["unchanged"] == 1
    assert labelled.get("/api/annotations")["items"] == []
    assert post(labelled, "/api/labels/import", missed(id="new"), only_new=True)["changed"] == 1


@pytest.mark.parametrize(
    ("path", "item"),
    [
        ("/api/annotations", {"opinion": "agree", "finding_id": FINDING.id}),
        ("/api/scores", {"trace_id": KNOWN, "dimension": "GF", "score": 1}),
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
    with Client(labelled.url) as client:
        assert (withdraw(client, name)["id"], labelled.get("/api/annotations")["items"]) == (name, [])


def test_an_id_of_several_traces_is_withdrawn_of_one(labelled: Api) -> None:
    """Which one must be said; the other stays."""
    labelled.reader.rebuilt[PLAIN] = replace(labelled.reader.rebuilt[KNOWN], trace_id=PLAIN)
    post(labelled, "/api/annotations", missed(id="own"), missed(id="own", trace_id=PLAIN))
    answer = labelled.client.request("DELETE", "/api/annotations/own", json={})
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "several traces have an annotation 'own': name the trace",
    )
    with Client(labelled.url) as client:
        assert withdraw(client, "own", KNOWN)["trace_id"] == KNOWN
    assert [a["trace_id"] for a in labelled.get("/api/annotations")["items"]] == [PLAIN]


def test_labels_are_deleted_for_good(labelled: Api) -> None:
    """One by its id, or all of a name; whoever names nothing deletes nothing."""
    (item,) = post(labelled, "/api/annotations", agree())["items"]
    post(labelled, "/api/scores", {"annotator": "ann", "trace_id": KNOWN, "dimension": "GF", "score": 1})
    with Client(labelled.url) as client:
        assert forget(client, {"id": item["id"]}) == 1
        assert forget(client, {"annotator": "bob"}) == 0
        assert forget(client, {"trace": KNOWN.upper(), "annotator": "ann"}) == 1
        with pytest.raises(ConfigError, match="name an id, a trace or an annotator"):
            forget(client, {"run": "run-1"})
    assert labelled.client.get("/api/labels/export").text == ""


@pytest.mark.parametrize("blank", ["", " \t"])
@pytest.mark.parametrize("name", ["id", "trace", "run", "annotator"])
def test_a_blank_names_nothing_to_delete(labelled: Api, name: str, blank: str) -> None:
    """It is refused: taken for nothing given, it would delete all that is of the rest."""
    post(labelled, "/api/annotations", agree())
    named = {"annotator": "ann", "trace": KNOWN} | {name: blank}
    with Client(labelled.url) as client, pytest.raises(ConfigError, match=f"{name} must not be blank"):
        forget(client, named)
    assert labelled.get("/api/annotations")["items"]


@pytest.mark.parametrize(
    "blank",
    [("", "--by", "ann"), ("some", " ", "--by", "ann")]
    + [("--by", "ann", "--trace", KNOWN, option, "") for option in ("--trace", "--run", "--by")],
)
def test_a_command_with_a_blank_deletes_nothing(labelled: Api, blank: tuple[str, ...]) -> None:
    """A script's empty variable is told in one line."""
    post(labelled, "/api/annotations", agree())
    result = CliRunner().invoke(root, ["labels", "delete", *blank, "--yes", "--url", labelled.url])
    assert result.exit_code == 2
    assert "ANNOTATION, --trace, --run and --by must not be blank" in result.stderr
    assert labelled.get("/api/annotations")["items"]


def test_a_command_deletes_what_it_names(labelled: Api) -> None:
    """Of an annotator in a trace, and by id."""
    (item,) = post(labelled, "/api/annotations", agree())["items"]
    for named in ([item["id"], "--by", "bob"], ["--by", "ann", "--trace", PLAIN]):
        result = CliRunner().invoke(root, ["labels", "delete", *named, "--yes", "--url", labelled.url])
        assert result.stdout == "0 labels deleted\n"
    result = CliRunner().invoke(root, ["labels", "delete", item["id"], "--by", "ann", "--yes", "--url", labelled.url])
    assert result.stdout == "1 label deleted\n"


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
