"""Whatever people say, change, take back, export and import, in whatever order: nothing is lost, nothing comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from label_items import put_labelled
from served_api import KNOWN, QUIET, SPAN, Api, finding

from tracejury.schemas.queries.labels import LabelQuery

FINDINGS = [finding(1), finding(2, span_id=QUIET, category="Goal Deviation")]

Op = tuple[str, Mapping[str, Any]]


def ready(api: Api) -> Api:
    """A trace with two findings and two runs, nothing said."""
    api.empty()
    put_labelled(api, *FINDINGS)
    return api


people = st.sampled_from(["ann", "bob"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
opinions = st.one_of(
    st.fixed_dictionaries(
        {
            "annotator": people,
            "opinion": st.sampled_from(["agree", "disagree"]),
            "finding_id": st.sampled_from([f.id for f in FINDINGS]),
            "explanation": texts,
        }
    ),
    st.fixed_dictionaries(
        {
            "annotator": people,
            "opinion": st.just("other-span"),
            "finding_id": st.just(FINDINGS[0].id),
            "span_id": st.just(QUIET),
        }
    ),
    st.fixed_dictionaries(
        {
            "annotator": people,
            "opinion": st.just("missed"),
            "trace_id": st.just(KNOWN),
            "span_id": st.sampled_from([SPAN, QUIET]),
            "category": st.sampled_from(["Goal Deviation", "Timeout Issues"]),
            "severity": st.sampled_from(["LOW", "HIGH"]),
            "evidence": texts,
        }
    ),
)
about = {"annotator": people, "trace_id": st.just(KNOWN), "agent_run_id": st.sampled_from(["", "run-1", "run-2"])}
scores = st.fixed_dictionaries(
    {
        **about,
        "dimension": st.sampled_from(["GF", "TC"]),
        "score": st.sampled_from([None, 0, 3]),
        "withdrawn": st.booleans(),
    }
)
reviews = st.fixed_dictionaries(
    {
        **about,
        "stratum": st.just("clean/-/svc"),
        "probability": st.sampled_from([0.25, 1.0]),
        "withdrawn": st.booleans(),
    }
)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("/api/annotations"), opinions),
        st.tuples(st.just("/api/human-scores"), scores),
        st.tuples(st.just("/api/reviews"), reviews),
        st.tuples(st.just("withdraw"), st.fixed_dictionaries({"which": st.integers(0, 9)})),
        st.tuples(st.just("import"), st.fixed_dictionaries({"which": st.integers(0, 9), "only_new": st.booleans()})),
    ),
    max_size=12,
)


def export(api: Api) -> list[dict[str, Any]]:
    return [json.loads(line) for line in api.client.get("/api/labels/export").content.splitlines()]


def bring(api: Api, lines: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    if not lines:
        return {"changed": 0, "refused": []}
    found: dict[str, Any] = api.client.post("/api/labels/import", json={"items": lines, **more}).json()
    return found


def apply(api: Api, op: Op, exports: list[list[dict[str, Any]]]) -> None:
    """Do it; what cannot be said any more (nothing to withdraw) is left."""
    name, details = op
    if name == "withdraw":
        shown = api.get("/api/annotations", withdrawn="true")["items"]
        if shown:
            chosen = shown[details["which"] % len(shown)]
            assert api.client.request("DELETE", f"/api/annotations/{chosen['id']}", json={}).status_code == 200
    elif name == "import":
        if exports:
            before = export(api)
            lines = exports[details["which"] % len(exports)]
            assert bring(api, lines, only_new=details["only_new"]) == {
                "changed": 0, "unchanged": len(lines), "refused": [],
            } or not lines  # fmt: skip
            assert export(api) == before, "what was said since is later"
    else:
        answer = api.client.post(name, json={"items": [details]})
        assert answer.status_code == 200, answer.text
    exports.append(export(api))


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations)
def test_everything_said_comes_back(api: Api, ops: list[Op]) -> None:
    """An export holds all that stands and all that was withdrawn: brought into an empty store it gives the same."""
    ready(api)
    exports: list[list[dict[str, Any]]] = []
    for op in ops:
        apply(api, op, exports)
    last = export(api)
    identities = [(i["kind"], i.get("id"), i["annotator"], i.get("agent_run_id"), i.get("dimension")) for i in last]
    assert len(set(identities)) == len(identities), "one person says one thing of one thing"
    api.reader.labels.delete(LabelQuery(1, trace_id=KNOWN))
    assert bring(api, last)["refused"] == []
    assert export(api) == last
    assert bring(api, last)["changed"] == 0
