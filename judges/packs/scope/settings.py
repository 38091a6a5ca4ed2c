"""The settings of SCOPE: its set of rubrics, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from tracejury.judges.checks.check_types import Check, Criterion
from tracejury.judges.packs.pack_types import Configured, PackSettings
from tracejury.judges.packs.sources import CRITERIA
from tracejury.judges.rubrics.rubric_set import Label, Rubric, RubricSet, read_rubric_set
from tracejury.judges.rubrics.session_label import FULL, Weighing
from tracejury.schemas.config_base import FilePath
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.taxonomy import Severity

from .measures import LABEL_CHECK, formulas

LABELS: Final[dict[str, Label]] = {"scope-good": "good", "scope-bad": "bad"}
"""Of the rubrics that a check asks about."""
MEDIUM_FROM: Final = 7
"""The least weight of a rubric of MEDIUM severity."""


class Settings(PackSettings):
    """The settings of SCOPE."""

    rubrics: Annotated[str, FilePath()] = ""
    """The file of an accepted set of rubrics; without one only the situation is asked."""
    veto: Annotated[int, Field(ge=0, le=FULL, strict=True)] = 0
    """A proven make-or-break rubric of that strength or more makes the session bad; 0: none does."""
    live: bool = False
    """Ask of bad rubrics when an exchange has ended, too."""

    @model_validator(mode="after")
    def _of_rubrics(self) -> Self:
        if not self.rubrics and (self.veto or self.live):
            raise ValueError("rubrics: veto and live need the file of a set of rubrics")
        return self


def configured(made: Configured, settings: Settings) -> Configured:
    """The checks with the rubrics of the set as their items, or without those that need a set."""
    if not settings.rubrics:
        alone = [check for check in made.checks if check.name not in {*LABELS, LABEL_CHECK}]
        return Configured(tuple(alone), {check.name: made.formulas[check.name] for check in alone})
    rubrics = read_rubric_set(Path(settings.rubrics))
    if not rubrics.accepted_by:
        raise ConfigError(
            f"{settings.rubrics}: accepted_by: nobody has accepted this set: "
            "read its rubrics, which judges will be asked, and put your name there"
        )
    return with_rubrics(made, rubrics, settings.veto, live=settings.live)


def with_rubrics(made: Configured, rubrics: RubricSet, veto: int = 0, *, live: bool = False) -> Configured:
    """The pack's checks by a set, accepted or not."""
    early = {"scope-bad"} if live else set()
    checks = (
        _of_set(check, rubrics.of(LABELS[check.name]), early=check.name in early) if check.name in LABELS else check
        for check in made.checks
    )
    weighing = Weighing(weights=rubrics.method == "scope", veto=veto)
    note = f"rubrics {rubrics.digest}"
    notes = dict.fromkeys(LABELS, note) | {LABEL_CHECK: f"{note} veto {veto}"}
    return Configured(tuple(checks), {**made.formulas, **formulas(rubrics, weighing)}, notes)


def _of_set(check: Check, rubrics: tuple[Rubric, ...], *, early: bool) -> Check:
    criteria = {one.name: Criterion(text=one.text, category=one.name, severity=_severity(one)) for one in rubrics}
    return check.model_copy(update={"criteria": criteria, "items": replace(CRITERIA, early=early)})


def _severity(rubric: Rubric) -> Severity:
    if rubric.make_or_break:
        return Severity.HIGH
    return Severity.MEDIUM if rubric.weight >= MEDIUM_FROM else Severity.LOW
