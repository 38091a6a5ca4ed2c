"""The ranker's table: weights of a logistic model, fitted by fit.py (docs/detectors.md has method and figures)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BIAS: Final = -0.780

WEIGHTS: Final[Mapping[str, float]] = {
    "churn": -1.778,
    "early": 0.697,
    "error-page": 0.890,
    "first-tool": 0.316,
    "intent": 0.482,
    "invented-path": 0.809,
    "limit": 0.556,
    "made": 0.295,
    "made-given-file": -0.493,
    "made-up": 0.210,
    "manager": 0.572,
    "never-called": -0.757,
    "plan-again": -0.140,
    "plan-interface": 0.162,
    "plan-without-tool/manager": -1.383,
    "plan-without-tool/sub-agent": -1.556,
    "read": 1.835,
    "read-service": -1.128,
    "repeated": -0.592,
    "schema-made": 0.712,
    "surveyed": -0.045,
    "switch": 1.106,
    "tool-churn": -0.073,
    "tool-failed": -1.103,
    "tool-repeated": -0.272,
    "unfinished": -0.859,
    "ungrounded": 0.755,
    "ungrounded-delegate": -0.783,
    "ungrounded-wording": 1.121,
    "unobserved": 0.814,
}
"""By feature (features.py)."""

ECHOES: Final = frozenset({"repeated-failure", "answer-after-failure", "query-churn"})
"""Rules that say of a span in other words what a surer rule says of it already ..."""

ECHO: Final = 0.5
"""... by how much their confidence is lowered where that one fires, too."""
