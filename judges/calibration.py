"""The ranker's table: weights of a logistic model, fitted by fit.py (docs/detectors.md has method and figures)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BIAS: Final = -0.763

WEIGHTS: Final[Mapping[str, float]] = {
    "after-failure": 0.005,
    "churn": -1.785,
    "closing": -0.100,
    "early": 0.736,
    "error-page": 0.882,
    "first-tool": 0.309,
    "intent": 0.460,
    "invented-path": 0.807,
    "limit": 0.553,
    "made": 0.277,
    "made-given-file": -0.496,
    "made-up": 0.213,
    "manager": 0.581,
    "never-called": -0.734,
    "plan-again": -0.147,
    "plan-interface": 0.155,
    "plan-without-tool/manager": -1.402,
    "plan-without-tool/sub-agent": -1.568,
    "read": 1.838,
    "read-service": -1.125,
    "repeated": -0.596,
    "schema-made": 0.696,
    "surveyed": -0.057,
    "switch": 1.110,
    "tool-churn": -0.085,
    "tool-failed": -1.119,
    "tool-repeated": -0.285,
    "unfinished": -0.808,
    "ungrounded": 0.781,
    "ungrounded-delegate": -0.762,
    "ungrounded-wording": 1.141,
    "unobserved": 0.831,
}
"""By feature (features.py)."""

ECHOES: Final = frozenset({"repeated-failure", "answer-after-failure", "query-churn"})
"""Rules that say of a span in other words what a surer rule says of it already ..."""

ECHO: Final = 0.5
"""... by how much their confidence is lowered where that one fires, too."""
