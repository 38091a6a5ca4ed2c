"""Findings: localised errors, their identity and their life."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from .decisive import DECISIVE
from .taxonomy import TRAIL, Dimension, Severity, with_group


class FindingState(StrEnum):
    """Only CURRENT (and, while a trace is open, PROVISIONAL) findings show and count."""

    PROVISIONAL = "provisional"
    CURRENT = "current"
    RETRACTED = "retracted"


class Verification(StrEnum):
    """What came of a second look at a finding by a judge that had not made it."""

    NONE = ""  # nobody was asked
    VERIFIED = "verified"
    REFUTED = "refuted"
    UNVERIFIED = "unverified"  # asked for, without an answer that decides


_SAID: Final = {"verified": "verified", "refuted": "refuted", "unverified": "not verified"}


def verification_told(verification: str, by: str, reason: str) -> str:
    """A `Verification` in plain words, such as "refuted by MODEL: the figure is S3's"; "" where nobody was asked."""
    if verification not in _SAID:
        return ""
    said = f"{_SAID[verification]} by {by}" if by else _SAID[verification]
    return f"{said}: {reason}" if reason else said


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSpans:
    """The spans that an error names beside its own: `also_at` repeat or relay it.

    `linked`: other span ids of the same claim, where two anchors are equally likely; finding ids of a `Finding`.
    """

    tool_span_id: str = ""
    seen_by_span_id: str = ""
    also_at: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft(OtherSpans):
    """A detector's or judge's claim, before the evidence gate.

    `span_id` where the error was made; `evidence` verbatim from that span's own text; `confidence` the rule's
    measured precision in [0, 1]; `dimensions` first = primary; `turn` the turn's index in its run, None outside.
    `title`: the error in a few words. `template`: the words that its template is made of where the explanation cuts
    them, "" for those of the explanation; of a `Finding` what stays of a rule's words with other values
    (`judges/patterns/templates.py`), "" of a model's.
    """

    judge: str
    span_id: str
    category: str
    dimensions: tuple[Dimension, ...]
    severity: Severity
    confidence: float
    evidence: str
    explanation: str
    agent_run_id: str = ""
    turn: int | None = None
    taxonomy: str = TRAIL
    title: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Draft):
    """A draft that passed the gate, with its identity. `first_seen`: unix nanos, the fingerprint's.

    `verification`: what a judge that did not make it says of it, by `verified_by` for `verification_reason`;
    `confidence` follows from it (`judges/verification.py`). `withdrawn`: why it holds no more, "" while it does.
    """

    id: str
    fingerprint: str
    tenant: str
    trace_id: str
    state: FindingState = FindingState.CURRENT
    first_seen: int = 0
    verification: Verification = Verification.NONE
    verified_by: str = ""
    verification_reason: str = ""
    withdrawn: str = ""

    @property
    def dimension(self) -> Dimension | None:
        """The primary dimension."""
        return self.dimensions[0] if self.dimensions else None

    @property
    def of_pack(self) -> bool:
        """Whether a check of a pack made it: such a judge has the pack's name and a hyphen before its own."""
        pack, hyphen, _ = self.judge.partition("-")
        return bool(hyphen) and pack == self.taxonomy

    @property
    def marks(self) -> bool:
        """Whether it marks the decisive error of its trace (`schemas/decisive.py`) and is no mistake of its own."""
        return self.judge == DECISIVE

    @property
    def beside(self) -> bool:
        """Whether it changes nothing of the errors that other findings make."""
        return self.of_pack or self.marks

    @property
    def verification_told(self) -> str:
        """What was said of it by who looked at it again, in plain words, "" for nothing."""
        return verification_told(self.verification, self.verified_by, self.verification_reason)

    @property
    def shown_title(self) -> str:
        """The title, else the category with its group."""
        return self.title or with_group(self.taxonomy, self.category)


def normalise_evidence(evidence: str) -> str:
    """Evidence with white space folded and case dropped: what identity depends on."""
    return " ".join(evidence.split()).casefold()


@lru_cache(8192)
def finding_id(tenant: str, trace_id: str, span_id: str, judge: str, category: str, evidence: str) -> str:
    """Identity without version: judging again with the same outcome gives the same id (32 hex digits)."""
    return digest((tenant, trace_id, span_id, judge, category, normalise_evidence(evidence)))


@lru_cache(8192)
def fingerprint(tenant: str, trace_id: str, span_id: str, taxonomy: str, category: str) -> str:
    """Identity that survives rewording and a change of judge (32 hex digits)."""
    return digest((tenant, trace_id, span_id, taxonomy, category))


def digest(parts: Iterable[str]) -> str:
    """32 hex digits of a row of texts; no other row has the same."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    measured = b"".join(len(data).to_bytes(8, "big") + data for data in encoded)
    return hashlib.blake2b(measured, digest_size=16).hexdigest()


BESIDE: Final = f"(Judge = '{DECISIVE}' OR position(Judge, '-') > 0 AND splitByChar('-', Judge)[1] = Taxonomy)"
"""`Finding.beside` of a row of the table."""

LIVE = frozenset({FindingState.CURRENT, FindingState.PROVISIONAL})
