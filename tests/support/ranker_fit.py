"""Fitting the ranker's table: logistic regression with a ridge penalty, by Newton's method, in plain Python.

Small on purpose (some ten features, some hundreds of spans): no numeric library is needed to fit it again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

Row = Mapping[str, float]

RIDGE: Final = 0.5
"""Strength of the penalty: what did best on folds left out (0.3 to 5 were tried; docs/detectors.md)."""


def fit_logistic(
    rows: Sequence[Row], labels: Sequence[bool], *, ridge: float = RIDGE, rounds: int = 30
) -> tuple[dict[str, float], float]:
    """Weights by feature name, and the bias (not penalised), that maximise the penalised likelihood.

    Raises:
        ValueError: rows and labels differ in number, or there are none.
    """
    if not rows or len(rows) != len(labels):
        raise ValueError("as many labels as rows are needed, and at least one")
    names = sorted({name for row in rows for name in row})
    matrix = [[row.get(name, 0.0) for name in names] + [1.0] for row in rows]
    penalty = [ridge] * len(names) + [1e-6]
    weights = [0.0] * (len(names) + 1)
    for _ in range(rounds):
        step = _newton_step(matrix, labels, weights, penalty)
        weights = [w - s for w, s in zip(weights, step, strict=True)]
        if max(abs(s) for s in step) < _CLOSE:
            break
    return dict(zip(names, weights[:-1], strict=True)), weights[-1]


_CLOSE = 1e-8


def _newton_step(
    matrix: Sequence[Sequence[float]], labels: Sequence[bool], weights: Sequence[float], penalty: Sequence[float]
) -> list[float]:
    size = len(weights)
    gradient = [p * w for p, w in zip(penalty, weights, strict=True)]
    hessian = [[penalty[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
    for row, label in zip(matrix, labels, strict=True):
        estimate = 1.0 / (1.0 + math.exp(-sum(w * x for w, x in zip(weights, row, strict=True))))
        present = [(i, x) for i, x in enumerate(row) if x]
        for i, x in present:
            gradient[i] += (estimate - label) * x
            for j, z in present:
                hessian[i][j] += estimate * (1.0 - estimate) * x * z
    return _solve(hessian, gradient)


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination with partial pivoting; the penalty makes the matrix regular."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, size):
            factor = rows[r][i] / rows[i][i]
            if factor:
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    solution = [0.0] * size
    for i in reversed(range(size)):
        known = sum(rows[i][j] * solution[j] for j in range(i + 1, size))
        solution[i] = (rows[i][size] - known) / rows[i][i]
    return solution
