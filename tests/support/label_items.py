"""What people say, as the requests of tests say it, and the finding that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from served_api import KNOWN, PLAIN, QUIET, Api, finding
from store_parts import a_span

from tracejury.schemas.findings import Finding

FINDING = finding(1)


def post(api: Api, path: str, *items: Mapping[str, Any], **more: Any) -> Any:
    """The JSON, or status and detail of a refusal."""
    answer = api.client.post(path, json={"items": list(items), **more})
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["detail"])


def agree(**changes: Any) -> dict[str, Any]:
    return {"annotator": "ann", "opinion": "agree", "finding_id": FINDING.id} | changes


def missed(**changes: Any) -> dict[str, Any]:
    item = {"annotator": "ann", "opinion": "missed", "trace_id": KNOWN, "span_id": QUIET, "category": "Goal Deviation"}
    return item | changes


def score(**changes: Any) -> dict[str, Any]:
    return {"annotator": "ann", "trace_id": KNOWN, "dimension": "GF", "score": 2} | changes


def review(**changes: Any) -> dict[str, Any]:
    return {"annotator": "ann", "trace_id": KNOWN} | changes


def put_labelled(api: Api, *findings: Finding) -> None:
    """A trace with these findings and two agent runs, of which one is the manager; and one without any."""
    api.put(*findings)
    kinds = (("run-1", "", "AGENT"), ("llm-1", "run-1", "LLM"), ("run-2", "run-1", "AGENT"), ("llm-2", "run-2", "LLM"))
    spans = (
        a_span(
            trace_id=KNOWN, span_id=span_id, parent_span_id=parent, name=span_id,
            attributes={"openinference.span.kind": kind},
        )
        for span_id, parent, kind in kinds
    )  # fmt: skip
    api.put_spans(*spans, a_span(trace_id=PLAIN))
