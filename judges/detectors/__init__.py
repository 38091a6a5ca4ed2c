"""The built-in detectors, one family a file."""

from __future__ import annotations

from typing import Final

from ..base import Detector
from .failures import ToolError

BUILT_IN: Final[tuple[Detector, ...]] = (ToolError(),)
"""Every built-in detector; order means nothing."""
