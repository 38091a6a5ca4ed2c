"""The built-in detectors, one family a file."""

from __future__ import annotations

from typing import Final

from tracejury.judges.base import Detector

from . import (
    arguments,
    churn,
    claimed,
    coding,
    completion,
    endings,
    entities,
    execution,
    fabrication,
    failures,
    grounding,
    intent,
    loops,
    models,
    pages,
    plans,
    repetition,
    replanning,
    runaway,
    schema,
    switching,
)

BUILT_IN: Final[tuple[Detector, ...]] = (
    *grounding.RULES,
    *intent.RULES,
    *schema.RULES,
    *failures.RULES,
    *models.RULES,
    *repetition.RULES,
    *churn.RULES,
    *loops.RULES,
    *coding.RULES,
    *execution.RULES,
    *replanning.RULES,
    *switching.RULES,
    *pages.RULES,
    *plans.RULES,
    *completion.RULES,
    *endings.RULES,
    *arguments.RULES,
    *fabrication.RULES,
    *claimed.RULES,
    *entities.RULES,
    *runaway.RULES,
)
"""Every built-in detector; order means nothing."""
