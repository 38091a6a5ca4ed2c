"""A diagnosis as a model of the API."""

from __future__ import annotations

from tracejury.processors.doctor import Diagnosis
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.doctor import ContentsJson, ConventionJson, DiagnosisJson, ScopeJson


def present_diagnosis(found: Diagnosis) -> DiagnosisJson:
    """The whole diagnosis."""
    return fill(
        DiagnosisJson,
        found,
        conventions=[ConventionJson(name=name, spans=spans) for name, spans in found.conventions],
        scopes=[ScopeJson(name=name, version=version, spans=n) for name, version, n in found.scopes],
        contents=fill(ContentsJson, found.contents, llm_calls=found.contents.calls),
    )
