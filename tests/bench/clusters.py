"""Clusters of planted errors without a model: `python tests/bench/clusters.py [--errors 10000]`.

25 types, each in three wordings. Needs scikit-learn, the extra `clusters`.
"""

from __future__ import annotations

import argparse
import time

from planted_errors import planted
from sklearn.metrics import homogeneity_score

from tracejury.judges.clusters.clustering import clustered


def main() -> None:
    """Print size, purity and CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", type=int, default=10_000)
    errors, types = planted(parser.parse_args().errors)
    kinds = dict(zip((error.id for error in errors), types, strict=True))
    began = time.process_time()
    found = clustered(errors, {})
    spent = time.process_time() - began
    pairs = [(kinds[error.id], at) for at, group in enumerate(found.groups) for error in group.errors]
    pure = homogeneity_score(*zip(*pairs, strict=True))
    print(f"{len(errors):,} errors: {len(found.groups)} clusters, homogeneity {pure:.4f}", end="")
    print(f", {len(found.single) / len(errors):.4f} single, {spent:.1f} s of CPU")


if __name__ == "__main__":
    main()
