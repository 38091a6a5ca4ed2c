"""The two tables of "What is your agent's GPA?": annotated errors caught by each judge, and localised by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType

from tracejury.judges.measures.confusion import Confusion
from tracejury.judges.measures.judge_agreement import ALL, JudgeAgreement, JudgeConfusion

from .tables import INTERVAL, Column, listed

EVERY_JUDGE: Final = "all judges"


def confusion_tables(agreement: JudgeAgreement) -> Iterator[RenderableType]:
    """What was caught, then what was localised; a row a judge and impact, and one with all judges' counts together."""
    rows = [row for row in agreement.judges if row.mapped or row.caught.fp]
    rows += [every] if (every := every_judge(agreement.judges)) else []
    for title, what in (("judge, caught", "caught"), ("judge, localised", "localised")):
        yield listed(title, _columns(what), ((row.judge if row.impact == ALL else "", row) for row in rows))


def every_judge(rows: Sequence[JudgeConfusion]) -> JudgeConfusion | None:
    """All judges' counts over all impacts together; None without any."""
    whole = [row for row in rows if row.impact == ALL]
    if not whole:
        return None
    return JudgeConfusion(
        dimension="",
        judge=EVERY_JUDGE,
        impact=ALL,
        mapped=sum(row.mapped for row in whole),
        caught=sum((row.caught for row in whole), Confusion()),
        localised=sum((row.localised for row in whole), Confusion()),
    )


def _columns(what: str) -> tuple[Column, ...]:
    return (
        "impact",
        ("errors", "mapped"),
        *((name, f"{what}.{name}") for name in ("tp", "fp", "fn", "tn")),
        ("P", f"{what}.precision"),
        (INTERVAL, f"intervals.{what}_precision"),
        ("R", f"{what}.recall"),
        (INTERVAL, f"intervals.{what}_recall"),
        ("F1", f"{what}.f1"),
        (INTERVAL, f"intervals.{what}_f1"),
        ("F2", f"{what}.f2"),
        ("accuracy", f"{what}.accuracy"),
    )
