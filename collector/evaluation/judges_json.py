"""An evaluation of LLM judges as JSON for programs, whole enough to be compared with another one later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.judges.agreement import ratio
from tracejury.judges.llm.case import Deliberation
from tracejury.schemas.findings import Finding

from .judges_options import JudgesOptions
from .judges_report import JudgesReport, ScoredRepetition
from .judges_result import TraceResult
from .plain import plain
from .report import as_json
from .spend import Usage


def judges_json(report: JudgesReport) -> dict[str, Any]:
    """The report: what was asked, headline figures, tables, then all that was said."""
    first = report.repetitions[0]
    return {
        "asked": _asked(report.options, report),
        "traces": len(report.rebuilt.traces),
        "errors": len(report.rebuilt.errors),
        "spans": {source: as_json(evaluation) for source, evaluation in report.sources.items()},
        "judges": plain(report.agreement.all),
        "judges_valid": plain(report.agreement.valid),
        "judged_against": report.agreement.traces,
        "precision": plain(report.agreement.precision),
        "kappa": plain(report.agreement.kappa),
        "unadjudicated": report.unadjudicated,
        "labels": {"labelled": report.rebuilt.gold.labelled, "defaulted": report.rebuilt.gold.defaulted},
        "scales": plain(report.scales),
        "outcomes": plain(report.outcomes),
        "repeatability": plain(report.repeatability),
        "answered": plain(first.answered),
        "verification": plain(report.verification),
        "decisive": plain(report.decisive),
        "spend": _spend(first.spend, len(report.rebuilt.traces)),
        "adjudication": plain(report.sessions.adjudication),
        "repetitions": [_repetition(one, report) for one in report.repetitions],
        "baseline": {
            name: _repetition(one, report) | {"against_annotators": plain(one.agreement)}
            for name, one in report.baseline.items()
        },
        "matches": None if report.matches is None else {n: sorted(p) for n, p in sorted(report.matches.items())},
        "results": [_result(result) for result in report.sessions.results],
    }


def _asked(options: JudgesOptions, report: JudgesReport) -> dict[str, Any]:
    panel = report.sessions.panel
    return {
        "criteria": panel.criteria.name,
        "versions": {judge.name: panel.version(judge.name) for judge in panel.judges},
        "model": report.sessions.models[0],
        "adjudicator": report.sessions.models[1] if options.adjudicate else None,
        "mode": options.llm.mode,
        "streaming": options.llm.streaming,
        "architecture": options.architecture,
        "hints": options.llm.hints,
        "verify": options.llm.verify,
        "decisive": options.llm.decisive,
        "verifier": options.llm.verifier.model if options.llm.verifier else None,
        "runs": options.runs,
        "profile": options.profile,
        "temperature": options.llm.temperature,
    }


def _spend(by_purpose: Mapping[str, Usage], traces: int) -> dict[str, Any]:
    total = sum(by_purpose.values(), Usage())
    per_trace = {name: ratio(getattr(total, name), traces) for name in PER_TRACE}
    return {**plain(total), "per_trace": per_trace, "by_purpose": plain(by_purpose)}


PER_TRACE: Final = ("calls", "input_tokens", "cached_tokens", "output_tokens", "usd")


def _repetition(one: ScoredRepetition, report: JudgesReport) -> dict[str, Any]:
    a = one.evaluation.agreement
    return {
        "findings": one.evaluation.findings,
        **plain(a.all),
        "localised_valid": a.valid.localised,
        "answered": plain(one.answered),
        "spend": _spend(one.spend, len(report.rebuilt.traces)),
    }


def _result(result: TraceResult) -> dict[str, Any]:
    return {
        "trace": result.name,
        "trace_id": result.trace_id,
        "repetition": result.repetition,
        "runs": [
            {
                "run": run.run_id,
                "role": run.role,
                "verdicts": [
                    {"judge": v.judge, "score": v.score, "not_applicable": v.not_applicable, "reasons": v.reasons}
                    for v in run.verdicts
                ],
                "findings": _findings(run.findings),
                "failures": dict(run.failures),
                "dropped": dict(run.dropped),
                "provisional": run.provisional,
                "opinions": [
                    {"finding": o.finding_id, "verification": o.verification.value, "reason": o.reason}
                    for o in run.opinions
                ],
            }
            for run in result.runs
        ],
        "decisive": None if result.decisive is None else _decisive(result.decisive),
        "spend": plain(sum(result.spend.values(), Usage())),
    }


def _decisive(said: Deliberation) -> dict[str, Any]:
    """The error that was named, if any, and the reasons of the answer, or why there is none."""
    return {
        "findings": _findings(said.findings),
        "reasons": [verdict.reasons for verdict in said.verdicts if verdict.reasons],
        "failures": dict(said.failures),
    }


def _findings(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "id": f.id,
            "span_id": f.span_id,
            "turn": f.turn,
            "judge": f.judge,
            "dimensions": [d.value for d in f.dimensions],
            "category": f.category,
            "severity": f.severity.value,
            "confidence": f.confidence,
            "evidence": f.evidence,
            "explanation": f.explanation,
            "elsewhere": [i for i in (f.tool_span_id, f.seen_by_span_id, *f.also_at) if i],
        }
        for f in findings
    ]
