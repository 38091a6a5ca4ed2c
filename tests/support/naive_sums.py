"""The sums of one cluster, from their definition."""

from __future__ import annotations

from tracejury.schemas.rates import Sums


def one(w: float, t: int, b: int, y: int) -> Sums:
    """The sums of one cluster."""
    return Sums(
        n=1, units=t, hits=b, errors=y, w=w, w2=w * w, wt=w * t, w2t2=(w * t) ** 2, wb=w * b, w2b2=(w * b) ** 2,
        w2bt=w * w * b * t, wy=w * y, w2y=w * w * y, w2yt=w * w * y * t, w2y2=(w * y) ** 2,
    )  # fmt: skip
