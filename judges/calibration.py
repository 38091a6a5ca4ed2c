"""The ranker's table: weights of a logistic model, fitted by fit.py (docs/detectors.md has method and figures)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BIAS: Final = -0.777

WEIGHTS: Final[Mapping[str, float]] = {
    "after-failure": -0.020,
    "churn": -1.663,
    "closing": -0.099,
    "early": 0.722,
    "error-page": 0.889,
    "first-tool": 0.314,
    "intent": 0.476,
    "invented-path": 0.805,
    "limit": 0.555,
    "made": 0.302,
    "made-given-file": -0.501,
    "made-up": 0.212,
    "manager": 0.575,
    "never-called": -0.726,
    "plan-again": -0.141,
    "plan-interface": 0.160,
    "plan-without-tool/manager": -1.388,
    "plan-without-tool/sub-agent": -1.558,
    "read": 1.906,
    "read-service": -1.013,
    "repeated": -0.598,
    "schema-made": 0.683,
    "surveyed": -0.047,
    "switch": 1.070,
    "tool-churn": -0.333,
    "tool-failed": -1.106,
    "tool-repeated": -0.244,
    "unfinished": -0.805,
    "ungrounded-wording": 1.148,
    "ungrounded/manager": 0.791,
    "ungrounded/sub-agent": -0.761,
    "unobserved": 0.833,
}
"""By feature (features.py)."""
