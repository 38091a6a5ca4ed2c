"""The confidence of a finding: a logistic model over the rules that fired at its span and the span's place.

The model estimates the probability that an expert marks the span. Its table (calibration.py) was fitted on annotated
traces; docs/detectors.md tells how and how well it holds on traces that it has not seen. A rule that the table does
not know, such as a user's own, keeps the confidence that it claims.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..schemas.findings import Draft
from .base import Context
from .calibration import BIAS, ECHO, ECHOES, WEIGHTS
from .features import family, features, places


class LogisticRanker:
    """Sets the confidence of every draft of a known rule to the estimate for its span."""

    def __init__(self, weights: Mapping[str, float] = WEIGHTS, bias: float = BIAS) -> None:
        self._weights = dict(weights)
        self._bias = bias
        table = json.dumps([sorted(self._weights.items()), bias, sorted(ECHOES), ECHO])
        self.version: str = hashlib.blake2b(table.encode(), digest_size=6).hexdigest()

    def rank(self, ctx: Context, drafts: Sequence[Draft]) -> list[Draft]:
        """The drafts, in order, with calibrated confidences."""
        by_span: dict[str, list[Draft]] = {}
        for draft in drafts:
            if family(draft.judge):
                by_span.setdefault(draft.span_id, []).append(draft)
        if not by_span:
            return list(drafts)
        where = places(ctx)
        estimate = {}
        for span_id, found in by_span.items():
            estimate[span_id] = self.probability(features((d.judge for d in found), where.get(span_id)))
        return [self._settle(d, by_span[d.span_id], estimate[d.span_id]) if family(d.judge) else d for d in drafts]

    def _settle(self, draft: Draft, beside: Sequence[Draft], estimate: float) -> Draft:
        echo = draft.judge in ECHOES and any(d.judge not in ECHOES for d in beside)
        return replace(draft, confidence=round(estimate * ECHO, 4) if echo else estimate)

    def probability(self, values: Mapping[str, float]) -> float:
        """The model's estimate for a span with these features, rounded to four digits."""
        score = self._bias + sum(self._weights.get(name, 0.0) * value for name, value in values.items())
        return round(1.0 / (1.0 + math.exp(-score)), 4)
