"""Options of an evaluation of LLM judges."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tracejury.collector.judging.model.cassette import CassetteOptions
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.measures.scales import SPLIT

NO_ARCHITECTURE: Final = "none"
DERIVED: Final = "derived"


@dataclass(frozen=True, slots=True)
class JudgesOptions:
    """The judges, their model, the part of the folder that is judged, and the measures.

    `llm`: as production has it: model, criteria, mode, hints, streaming; without a model only a cassette can answer.
    `architecture`: "none", "derived", or a file with a description. `detectors`: score them, too, alone and together
    with the judges. `runs`: how often each trace is judged. `adjudicator`: a model for the matcher, "" for the judges'
    own. `human`: matches by people; `labels`: what people said, a file or a collector's address (see
    `people.read_people`); `split`: the lowest score that counts as met. `limit`: traces, 0 for all.
    """

    folder: Path
    llm: LlmConfig
    architecture: str = DERIVED
    detectors: bool = True
    baseline: bool = False
    runs: int = 1
    adjudicate: bool = False
    adjudicator: str = ""
    human: Path | None = None
    labels: Path | str | None = None
    split: int = SPLIT
    cassette: CassetteOptions = field(default_factory=CassetteOptions)
    profile: str = "balanced"
    limit: int = 0
