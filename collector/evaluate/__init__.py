"""The agreement harness: a TRAIL folder through the code of production, scored against its annotations."""

from .folder import TrailFolder, load
from .report import as_json, as_tables
from .score import Evaluation, evaluate

__all__ = ["Evaluation", "TrailFolder", "as_json", "as_tables", "evaluate", "load"]
