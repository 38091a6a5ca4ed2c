"""Error rates: facts of runs and traces, renewed when judging changes them; their sums; questions and answers."""

from __future__ import annotations

from .rates import StoredRates

__all__ = ["StoredRates"]
