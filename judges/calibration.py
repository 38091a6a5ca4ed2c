"""The ranker's table: weights of a logistic model, fitted by fit.py (docs/detectors.md has method and figures)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BIAS: Final = -0.241

WEIGHTS: Final[Mapping[str, float]] = {
    "manager": 0.566,
    "read": 1.909,
    "read-service": -1.876,
    "repeated": -0.706,
    "strong": 1.501,
    "ungrounded": 1.096,
    "ungrounded-delegate": -1.551,
    "ungrounded-wording": 0.738,
    "very-weak": -2.489,
    "weak": -1.002,
}
"""By feature (features.py)."""

ECHOES: Final = frozenset({"repeated-failure", "answer-after-failure", "query-churn"})
"""Rules that say of a span in other words what a surer rule says of it already ..."""

ECHO: Final = 0.4
"""... by how much their confidence is lowered where that one fires, too."""
