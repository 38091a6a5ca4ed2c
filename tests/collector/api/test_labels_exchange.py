"""`/api/labels/export` and `/api/labels/import`."""

from __future__ import annotations

import io
import json
from typing import Any

from label_items import agree, missed, post
from served_api import KNOWN, QUIET, SPAN, Api

from tracejury.collector.api.client import ApiClient
from tracejury.collector.labels.checks import MAX_CATEGORY, MAX_NAME, MAX_TEXT
from tracejury.collector.labels.lines import pages, read_lines
from tracejury.schemas.queries.labels import LabelQuery


def test_an_export_is_what_an_import_takes(labelled: Api) -> None:
    """Everything, withdrawn too, one JSON object a line; the import of it elsewhere leads to the same export."""
    (item,) = post(labelled, "/api/annotations", agree())["items"]
    labelled.client.request("DELETE", f"/api/annotations/{item['id']}", json={})
    post(labelled, "/api/annotations", agree(annotator="bob", opinion="other-span", span_id=QUIET), missed())
    post(labelled, "/api/human-scores", {"annotator": "ann", "trace_id": KNOWN, "dimension": "GF", "score": None})
    post(labelled, "/api/reviews", {"annotator": "ann", "trace_id": KNOWN, "stratum": "s", "probability": 0.5})
    answer = labelled.client.get("/api/labels/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.content.splitlines()]
    assert sorted(line["kind"] for line in lines) == ["annotation"] * 3 + ["review", "score"]
    assert labelled.reader.labels.delete(LabelQuery(1, trace_id=KNOWN)) == 5
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
    assert labelled.reader.labels.delete(LabelQuery(1, trace_id=KNOWN)) == 1
    with ApiClient(labelled.url) as client:
        assert client.import_labels([line.item for line in page], only_new=False).changed == 1
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
