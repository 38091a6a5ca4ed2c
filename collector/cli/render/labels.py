"""Human labels for people, from the JSON of the API: plain text, made safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.taxonomy import DIMENSION_NAMES
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.wire.base import WireModel
from tracejury.schemas.wire.labels import AgreementPage, QualityPage, QueueItemJson
from tracejury.schemas.wire.rates import EstimateJson

from .tables import SEVERITY_STYLE, content, moment, rows_table

WHY = 120


_OF_RUN: Final[Mapping[str, Callable[[Any], Text | str]]] = {
    "trace": lambda r: content(r.trace_id),
    "run": lambda r: content(r.agent_run_id),
    "at": lambda r: moment(r.changed_at),
    "annotator": lambda r: content(r.annotator, 30),
}
_OF_SESSION: Final[Mapping[str, Callable[[Any], Text | str]]] = {
    "at": _OF_RUN["at"],
    "annotator": _OF_RUN["annotator"],
    "service": lambda r: content(r.service or "unknown service", 40),
}
LABEL_COLUMNS: Final[Mapping[str, Mapping[str, Callable[[Any], Text | str]]]] = {
    "annotations": {
        "annotation": lambda r: content(r.id, 40),
        "at": lambda r: moment(r.changed_at),
        "annotator": lambda r: content(r.annotator, 30),
        "opinion": lambda r: _opinion(r.opinion, withdrawn=r.withdrawn),
        "severity": lambda r: Text(r.severity, style=SEVERITY_STYLE.get(r.severity, "")),
        "category": lambda r: content(r.category, 40),
        "span": lambda r: content(r.span_id),
        "judge": lambda r: content(r.judge or "-", 40),
        "why": lambda r: content(r.explanation or r.evidence, WHY),
    },
    "human-scores": {
        **_OF_RUN,
        "dimension": lambda r: Text(DIMENSION_NAMES.get(r.dimension, r.dimension)),
        "score": lambda r: _opinion("not applicable" if r.score is None else str(r.score), withdrawn=r.withdrawn),
        "why": lambda r: content(r.explanation, WHY),
    },
    "reviews": {
        **_OF_RUN,
        "drawn from": lambda r: (
            content(r.stratum or "chosen by hand", 60) + Text(" (withdrawn)" if r.withdrawn else "")
        ),
    },
    "preferences": {
        **_OF_SESSION,
        "first": lambda r: content(r.session_id, 60),
        "second": lambda r: content(r.other_session_id, 60),
        "better": lambda r: _opinion(r.better, withdrawn=r.withdrawn),
        "why": lambda r: content(r.explanation, WHY),
    },
    "session-labels": {
        **_OF_SESSION,
        "session": lambda r: content(r.session_id, 60),
        "label": lambda r: _opinion("good" if r.good else "bad", withdrawn=r.withdrawn),
        "satisfied": lambda r: {True: "yes", False: "no", None: "-"}[r.satisfied],
        "situation": lambda r: content(r.situation or "-", 40),
        "why": lambda r: content(r.explanation, WHY),
    },
    "pattern-labels": {
        "pattern": lambda r: content(r.pattern),
        "label": lambda r: _opinion(f"{r.mark} in {r.version}" if r.version else r.mark, withdrawn=r.withdrawn),
        "why": lambda r: content(r.explanation, WHY),
    },
    "score-outcomes": {
        "score": lambda r: content(r.name, 60),
        "at": _OF_RUN["at"],
        "annotator": _OF_RUN["annotator"],
        "good": lambda r: _opinion(one_line(r.good, 60), withdrawn=r.withdrawn),
        "why": lambda r: content(r.explanation, WHY),
    },
}
"""By the plural of a kind of label, the columns of its table."""


def labels_table(plural: str) -> Callable[[Sequence[WireModel]], RenderableType]:
    """The table of a kind of label: a line a label."""
    return lambda rows: rows_table(rows, f"no {plural.replace('-', ' ')}", LABEL_COLUMNS[plural])


def queue_table(rows: Sequence[QueueItemJson]) -> RenderableType:
    """A line a run or session, in the order in which to look at them."""
    runs: Mapping[str, Callable[[Any], Text | str]] = {
        "trace": lambda r: content(r.trace_id),
        "run": lambda r: content(r.agent_run_id),
        "service / agent": lambda r: content(f"{r.service or 'unknown service'} / {agent_name(r.agent)}", 60),
    }
    sessions = {"session": lambda r: content(r.session_id, 80), "service": _OF_SESSION["service"]}
    columns = sessions if any(row.session_id for row in rows) else runs
    return rows_table(rows, "nothing to label", {**columns, "why": lambda r: content(r.why, WHY)})


def quality_tables(page: QualityPage) -> RenderableType:
    """How judges fare, and how much of each stratum is labelled."""
    return Group(_judges(page), Text(), _strata(page))


def agreement_table(page: AgreementPage) -> RenderableType:
    """How measures go with preferences; and how many pairs people compared."""
    said = f"{counted(page.pairs, 'pair')} of sessions compared; neither better: {page.same:,}"
    contested = f"; contested, in no figure: {page.contested:,}" if page.contested else ""
    people = Text.assemble("; two people agree: ", _estimate(page.people)) if page.people else Text()
    none = "no pair has two values of a measure" if page.pairs else "nobody has compared sessions: labels compare"
    table = rows_table(
        page.items,
        none,
        {
            "measure": lambda r: content(f"{r.pack} {r.letter}" if r.pack else r.letter, 60),
            "agreement": lambda r: _estimate(r.agreement),
            "pairs": lambda r: str(r.pairs),
            "without ties": lambda r: _estimate(r.decided),
            "for / against": lambda r: f"{r.concordant} / {r.discordant}",
            "tied: measure / people / both": lambda r: f"{r.measure_tied} / {r.people_tied} / {r.both_tied}",
        },
    )
    return Group(Text.assemble(said, contested, people), table)


def _judges(page: QualityPage) -> RenderableType:
    return rows_table(
        page.items,
        "no labels of findings, and no reviews",
        {
            "judge": lambda r: content(r.judge, 60),
            "findings labelled": lambda r: str(r.findings),
            "precision": lambda r: _estimate(r.precision),
            "localised": lambda r: str(r.localised),
            "errors seen by people": lambda r: str(r.errors),
            "recall": lambda r: _estimate(r.recall),
        },
    )


def _strata(page: QualityPage) -> RenderableType:
    return rows_table(
        page.strata,
        "no judged runs",
        {
            "found/score/service": lambda r: content(r.name, 60),
            "runs": lambda r: str(r.size),
            "reviewed at random": lambda r: str(r.reviewed),
            "came since": lambda r: str(r.waiting),
        },
    )


def _opinion(text: str, *, withdrawn: bool) -> Text:
    return Text(f"{text} (withdrawn)", style="dim") if withdrawn else Text(text)


def _estimate(estimate: EstimateJson | None) -> Text:
    if estimate is None:
        return Text("-", style="dim")
    return Text(f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]")
