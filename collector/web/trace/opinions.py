"""Labels from the fields of feedback forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from tracejury.collector.api.params_labels import item_of
from tracejury.collector.labels.checks import name
from tracejury.judges.situations.situation_types import situation_names
from tracejury.schemas.annotations import (
    AnnotationDraft,
    Better,
    HumanScore,
    Label,
    Opinion,
    PatternLabel,
    PatternMark,
    Preference,
    Review,
    SessionLabel,
)
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Dimension, Severity

TERMS: Final = {
    "categories": TRAIL_CATEGORIES,
    "severities": tuple(severity.value for severity in Severity),
    "situations": situation_names(),
    "dimensions": tuple((dimension.value, dimension.name.replace("_", " ").lower()) for dimension in Dimension),
}
"""The options of the forms; dimensions by key and name."""

Form = Mapping[str, str]
Choice = TypeVar("Choice", Severity, Dimension)


def annotator_of(form: Form) -> str:
    """The annotator's name. Raises ConfigError where it is missing."""
    return name("your name", form.get("annotator", ""))


def an_opinion(form: Form, annotator: str) -> AnnotationDraft:
    """An opinion on a finding. Raises ConfigError for an unknown opinion."""
    opinion = form.get("opinion", "")
    if opinion not in (Opinion.AGREE, Opinion.DISAGREE, Opinion.OTHER_SPAN):
        raise ConfigError("an opinion on a finding is agree, disagree or other-span")
    # The same form holds the field for another span, which may be filled in beside the other buttons.
    return AnnotationDraft(
        annotator=annotator,
        opinion=Opinion(opinion),
        finding_id=_needed(form, "finding"),
        trace_id=form.get("trace", ""),
        span_id=form.get("span", "") if opinion == Opinion.OTHER_SPAN else "",
        explanation=_text(form, "note"),
    )


def a_missed_error(form: Form, annotator: str) -> AnnotationDraft:
    """A missed error. Raises ConfigError for an unknown severity."""
    return AnnotationDraft(
        annotator=annotator,
        opinion=Opinion.MISSED,
        trace_id=_needed(form, "trace"),
        span_id=_needed(form, "span"),
        category=form.get("category", ""),
        severity=_choice(Severity, form.get("severity", ""), "severity"),
        evidence=_text(form, "quote"),
        explanation=_text(form, "note"),
    )


def a_score(form: Form, annotator: str) -> HumanScore:
    """A score of 0 to 3 or not applicable, or its withdrawal.

    Raises:
        ConfigError: unknown dimension or score.
    """
    text = form.get("score", "")
    if text not in ("0", "1", "2", "3", "na", "withdraw"):
        raise ConfigError("a score is 0, 1, 2, 3 or not applicable")
    return HumanScore(
        trace_id=_needed(form, "trace"),
        agent_run_id=_needed(form, "run"),
        annotator=annotator,
        dimension=_choice(Dimension, form.get("dimension", ""), "dimension"),
        score=int(text) if text.isdecimal() else None,
        explanation=_text(form, "note"),
        withdrawn=text == "withdraw",
    )


def a_review(form: Form, annotator: str) -> Review:
    """A review of a run, or its withdrawal. Raises ConfigError for an invalid probability."""
    try:
        probability = float(form.get("probability", "") or 0.0)
    except ValueError:
        raise ConfigError("a probability is a number from 0 to 1") from None
    return Review(
        trace_id=_needed(form, "trace"),
        agent_run_id=_needed(form, "run"),
        annotator=annotator,
        stratum=form.get("stratum", ""),
        probability=probability,
        withdrawn=form.get("reviewed") == "no",
    )


def a_preference(form: Form, annotator: str) -> Preference:
    """Which of two sessions is better, or its withdrawal. Raises ConfigError for an unknown answer."""
    better = form.get("better", "")
    if better not in (*Better, "withdraw"):
        raise ConfigError("the better one is first, second or same")
    return Preference(
        annotator=annotator,
        service=form.get("service", ""),
        session_id=form.get("first", ""),
        other_session_id=form.get("second", ""),
        better=Better.SAME if better == "withdraw" else Better(better),
        explanation=_text(form, "note"),
        withdrawn=better == "withdraw",
    )


def a_session_label(form: Form, annotator: str) -> Label:
    """Whether a session is good, or the withdrawal of that. Raises ConfigError for what no label can say."""
    given = {name: form[name] for name in _OF_SESSION if form.get(name)}
    is_withdrawn = {"good": "false", "situation": ""} if "withdrawn" in given else {}
    return item_of({"kind": SessionLabel.kind, "annotator": annotator, **given, **is_withdrawn}).said(0)


def a_pattern_label(form: Form, annotator: str) -> Label:
    """What becomes of a pattern. Raises ConfigError for what no label can say."""
    mark = form.get("mark", "")
    version = form.get("version", "") if mark == PatternMark.RESOLVED else ""
    given = {"pattern": form.get("pattern", ""), "mark": mark, "version": version}
    return item_of(
        {"kind": PatternLabel.kind, "annotator": annotator, "explanation": _text(form, "explanation"), **given}
    ).said(0)


_OF_SESSION: Final = ("service", "session_id", "good", "satisfied", "situation", "explanation", "withdrawn")


def _needed(form: Form, what: str) -> str:
    text = form.get(what, "").strip()
    if not text:
        raise ConfigError(f"name the {what} by its id")
    return text


def _text(form: Form, what: str) -> str:
    return form.get(what, "").strip()


def _choice(kind: type[Choice], text: str, what: str) -> Choice:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"choose a {what}") from None
