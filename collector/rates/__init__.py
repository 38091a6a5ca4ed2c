"""Error rates: facts a run and a trace, made anew when judging changes them; their sums; questions and answers."""

from __future__ import annotations

from .rates import StoredRates

__all__ = ["StoredRates"]
