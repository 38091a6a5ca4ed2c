"""Reconstruction measured: raw captures of agent frameworks against the truth of the programs that sent them."""

from .report import as_json, as_list, as_tables
from .run import ReconstructionEvaluation, evaluate_frameworks

__all__ = ["ReconstructionEvaluation", "as_json", "as_list", "as_tables", "evaluate_frameworks"]
