"""Forms to labels: what a person says of a finding, a span or a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from ....schemas.annotations import Annotation, HumanScore, Opinion, Review, missed_id, opinion_id
from ....schemas.errors import ConfigError
from ....schemas.findings import Finding, fingerprint
from ....schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, Dimension, Severity

MAX_NAME: Final = 80
MAX_TEXT: Final = 2000
_ID: Final = re.compile(r"[0-9a-z:._/-]{1,200}", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Terms:
    """What forms offer. `dimensions`: key and name."""

    categories: tuple[str, ...]
    severities: tuple[str, ...]
    dimensions: tuple[tuple[str, str], ...]


TERMS: Final = Terms(
    TRAIL_CATEGORIES,
    tuple(severity.value for severity in Severity),
    tuple((dimension.value, dimension.name.replace("_", " ").lower()) for dimension in Dimension),
)

Form = Mapping[str, str]
Choice = TypeVar("Choice", Severity, Dimension)


def annotator_of(form: Form) -> str:
    """The name that stands beside what is said.

    Raises:
        ConfigError: there is none.
    """
    name = " ".join(form.get("annotator", "").split())[:MAX_NAME]
    if not name or not name.isprintable():
        raise ConfigError("say who you are: a name of up to 80 printable characters")
    return name


def an_opinion(form: Form, finding: Finding, annotator: str, now: int) -> Annotation:
    """What somebody says of a finding.

    Raises:
        ConfigError: no such opinion, or another span is meant and not named.
    """
    try:
        opinion = Opinion(form.get("opinion", ""))
    except ValueError:
        raise ConfigError("an opinion is agree, disagree or other-span") from None
    if opinion is Opinion.MISSED:
        raise ConfigError("an opinion on a finding is agree, disagree or other-span")
    span_id = finding.span_id
    if opinion is Opinion.OTHER_SPAN:
        span_id = _an_id(form, "span").lower()
    return Annotation(
        id=opinion_id(finding.tenant, annotator, finding.id),
        trace_id=finding.trace_id,
        span_id=span_id,
        annotator=annotator,
        category=finding.category,
        severity=finding.severity,
        evidence=finding.evidence,
        explanation=_text(form, "note"),
        taxonomy=finding.taxonomy,
        changed_at=now,
        tenant=finding.tenant,
        opinion=opinion,
        finding_id=finding.id,
        judge=finding.judge,
        agent_run_id=finding.agent_run_id,
        fingerprint=finding.fingerprint,
    )


def a_missed_error(form: Form, annotator: str, now: int) -> Annotation:
    """An error that no finding names.

    Raises:
        ConfigError: trace, span, category or severity are none that there are.
    """
    category = form.get("category", "")
    if category not in TRAIL_CATEGORIES:
        raise ConfigError("choose a category")
    trace_id, span_id = _an_id(form, "trace"), _an_id(form, "span")
    return Annotation(
        id=missed_id("", annotator, trace_id, span_id, TRAIL, category),
        trace_id=trace_id,
        span_id=span_id,
        annotator=annotator,
        category=category,
        severity=_choice(Severity, form.get("severity", ""), "severity"),
        evidence=_text(form, "quote"),
        explanation=_text(form, "note"),
        changed_at=now,
        opinion=Opinion.MISSED,
        agent_run_id=form.get("run", "")[:200],
        fingerprint=fingerprint("", trace_id, span_id, TRAIL, category),
    )


def a_score(form: Form, annotator: str, now: int) -> HumanScore:
    """A score of 0 to 3, not applicable, or one's own taken back.

    Raises:
        ConfigError: trace, run, dimension or score are none that there are.
    """
    text = form.get("score", "")
    if text not in ("0", "1", "2", "3", "na", "withdraw"):
        raise ConfigError("a score is 0, 1, 2, 3 or not applicable")
    return HumanScore(
        trace_id=_an_id(form, "trace"),
        agent_run_id=_an_id(form, "run"),
        annotator=annotator,
        dimension=_choice(Dimension, form.get("dimension", ""), "dimension"),
        score=int(text) if text.isdecimal() else None,
        explanation=_text(form, "note"),
        withdrawn=text == "withdraw",
        changed_at=now,
    )


def a_review(form: Form, annotator: str, now: int) -> Review:
    """Somebody has looked at the whole run, or has not after all.

    Raises:
        ConfigError: trace or run are none that there are, or the probability is none.
    """
    try:
        probability = float(form.get("probability", "") or 0.0)
    except ValueError:
        probability = -1.0
    if not 0.0 <= probability <= 1.0:
        raise ConfigError("a probability is a number from 0 to 1")
    return Review(
        trace_id=_an_id(form, "trace"),
        agent_run_id=_an_id(form, "run"),
        annotator=annotator,
        stratum=form.get("stratum", "")[:200],
        probability=probability,
        withdrawn=form.get("reviewed") == "no",
        changed_at=now,
    )


def _an_id(form: Form, name: str) -> str:
    text = form.get(name, "").strip()
    if not _ID.fullmatch(text):
        raise ConfigError(f"name the {name} by its id")
    return text


def _text(form: Form, name: str) -> str:
    return form.get(name, "").strip()[:MAX_TEXT]


def _choice(kind: type[Choice], text: str, name: str) -> Choice:
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"choose a {name}") from None
