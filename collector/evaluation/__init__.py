"""The agreement harness: a TRAIL folder through the code of production, scored against its annotations."""

from .folder import TrailFolder, load
from .report import as_json, as_tables
from .run import evaluate_trail
from .score import DetectorEvaluation, evaluate

__all__ = ["DetectorEvaluation", "TrailFolder", "as_json", "as_tables", "evaluate", "evaluate_trail", "load"]
