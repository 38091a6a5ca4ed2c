"""The ranker's table: weights of a logistic model (docs/detectors.md has method and figures)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BIAS: Final = -0.286

WEIGHTS: Final[Mapping[str, float]] = {
    "manager": 0.615,
    "read": 1.980,
    "read-service": -1.847,
    "repeated": -0.716,
    "strong": 1.330,
    "ungrounded": 1.099,
    "ungrounded-delegate": -1.531,
    "ungrounded-wording": 0.746,
    "very-weak": -2.473,
    "weak": -0.953,
}
"""By feature (features.py)."""

ECHOES: Final = frozenset({"repeated-failure", "answer-after-failure", "query-churn"})
"""Rules that say of a span in other words what a surer rule says of it already ..."""

ECHO: Final = 0.4
"""... by how much their confidence is lowered where that one fires, too."""
