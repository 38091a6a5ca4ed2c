"""The ranker's table: weights of a logistic model, fitted by fit.py (docs/detectors.md has method and figures)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BIAS: Final = -0.769

WEIGHTS: Final[Mapping[str, float]] = {
    "churn": -1.783,
    "early": 0.685,
    "error-page": 0.884,
    "first-tool": 0.310,
    "intent": 0.455,
    "invented-path": 0.806,
    "limit": 0.554,
    "made": 0.275,
    "made-given-file": -0.495,
    "made-up": 0.247,
    "manager": 0.590,
    "never-called": -0.747,
    "plan-again": -0.145,
    "plan-interface": 0.155,
    "plan-without-tool/manager": -1.405,
    "plan-without-tool/sub-agent": -1.564,
    "read": 1.847,
    "read-service": -1.128,
    "repeated": -0.600,
    "schema-made": 0.698,
    "surveyed": -0.053,
    "switch": 1.075,
    "tool-churn": -0.081,
    "tool-failed": -1.119,
    "tool-repeated": -0.281,
    "unfinished": -0.866,
    "ungrounded": 0.816,
    "ungrounded-delegate": -0.719,
    "ungrounded-wording": 0.910,
    "unobserved": 0.822,
}
"""By feature (features.py)."""

ECHOES: Final = frozenset({"repeated-failure", "answer-after-failure", "query-churn"})
"""Rules that say of a span in other words what a surer rule says of it already ..."""

ECHO: Final = 0.4
"""... by how much their confidence is lowered where that one fires, too."""
