"""The ranker's table: weights of a logistic model, fitted by fit.py (docs/detectors.md has method and figures)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BIAS: Final = -0.769

WEIGHTS: Final[Mapping[str, float]] = {
    "churn": -1.784,
    "early": 0.685,
    "error-page": 0.884,
    "first-tool": 0.309,
    "intent": 0.454,
    "invented-path": 0.807,
    "limit": 0.554,
    "made": 0.274,
    "made-given-file": -0.494,
    "made-up": 0.247,
    "manager": 0.590,
    "never-called": -0.747,
    "plan-again": -0.145,
    "plan-interface": 0.155,
    "plan-without-tool/manager": -1.405,
    "plan-without-tool/sub-agent": -1.564,
    "read": 1.849,
    "read-service": -1.130,
    "repeated": -0.601,
    "schema-made": 0.698,
    "surveyed": -0.053,
    "switch": 1.083,
    "tool-churn": -0.081,
    "tool-failed": -1.119,
    "tool-repeated": -0.281,
    "unfinished": -0.866,
    "ungrounded": 0.825,
    "ungrounded-delegate": -0.718,
    "ungrounded-wording": 0.906,
    "unobserved": 0.813,
}
"""By feature (features.py)."""

ECHOES: Final = frozenset({"repeated-failure", "answer-after-failure", "query-churn"})
"""Rules that say of a span in other words what a surer rule says of it already ..."""

ECHO: Final = 0.4
"""... by how much their confidence is lowered where that one fires, too."""
