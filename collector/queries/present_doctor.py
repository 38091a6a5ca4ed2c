"""A diagnosis as JSON."""

from __future__ import annotations

from ...processors.doctor import Diagnosis, Gap
from ...schemas.wire.doctor import ContentsJson, DiagnosisJson, GapJson


def present_diagnosis(found: Diagnosis) -> DiagnosisJson:
    """The whole diagnosis."""
    return {
        "services": list(found.services),
        "trace_ids": list(found.trace_ids),
        "open": found.open,
        "spans": found.spans,
        "conventions": [{"name": name or None, "spans": n} for name, n in found.conventions],
        "scopes": [{"name": name, "version": version, "spans": n} for name, version, n in found.scopes],
        "agents": [
            {
                "name": a.name,
                "parent": a.parent or None,
                "runs": a.runs,
                "llm_calls": a.llm_calls,
                "tool_calls": a.tool_calls,
            }
            for a in found.agents
        ],
        "tools": [
            {
                "name": t.name,
                "calls": t.calls,
                "arguments": t.arguments,
                "results": t.results,
                "failed": t.failed,
                "spans": t.spans,
            }
            for t in found.tools
        ],
        "contents": _contents(found),
        "gaps": [_gap(gap) for gap in found.gaps],
    }


def _contents(found: Diagnosis) -> ContentsJson:
    c = found.contents
    return {"llm_calls": c.calls, "inputs": c.inputs, "outputs": c.outputs, "tools": c.tools, "tokens": c.tokens}


def _gap(gap: Gap) -> GapJson:
    return {
        "kind": gap.kind,
        "severity": gap.severity.value,
        "title": gap.title,
        "what": gap.what,
        "lost": gap.lost,
        "remedies": [{"do": r.do, "source": r.source or None} for r in gap.remedies],
        "span_ids": list(gap.span_ids),
    }
