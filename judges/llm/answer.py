"""Answers of judges: the JSON schema they are given, and how a reply is read.

A reply is hostile text: it is read as one JSON object and as nothing else, bounded, item by item. Only a reply of which
nothing can be used is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.taxonomy import Severity

from . import leniency
from .answer_items import MAX_FINDINGS, RunsAsked, claims, decisions, looks, scores, scores_of_runs
from .answer_types import Answer, AnswerError, Claim, Look, Score, Vocabulary
from .case import Stage
from .json_object import MAX_CHARACTERS, json_object

__all__ = [
    "ANSWER_VERSION",
    "MAX_CHARACTERS",
    "MAX_FINDINGS",
    "MAX_SUMMARY",
    "Answer",
    "AnswerError",
    "Claim",
    "Look",
    "Score",
    "Vocabulary",
    "json_object",
    "list_of",
    "object_of",
    "parse",
    "schema",
]

ANSWER_VERSION: Final = 4
"""Counts changes of the schema or of what is made of a reply; part of a judge's version."""

MAX_SUMMARY: Final = 8000
"""Longest summary of a chapter, in characters; the rest is cut."""


def schema(
    words: Vocabulary, stage: Stage = Stage.CLOSING, *, lookup: bool = False, group: bool = False
) -> dict[str, Any]:
    """The JSON schema of an answer, in the subset that strict structured outputs allow.

    It depends on no trace, and windows have the same one as the closing pass, since providers put it in front of the
    cached prefix; a single plan needs neither decisions nor a summary. `lookup`: whether judges may ask to see more;
    the answer to what they are shown has the same schema. `group`: whether each verdict names its run.
    """
    finding = object_of(
        label={"type": "string"},
        quote={"type": "string"},
        dimensions=list_of({"type": "string", "enum": [*words.judges]}),
        category={"type": "string", "enum": [*words.categories]},
        severity={"type": "string", "enum": [s.value for s in Severity]},
        why={"type": "string"},
        title={"type": "string"},
        shown_at={"type": ["string", "null"]},
        also_at=list_of({"type": "string"}),
        material={"type": "boolean"},
        cut={"type": "boolean"},
    )
    score = {"type": ["integer", "null"], "description": "0 to 3; null: not applicable"}
    parts = {"findings": list_of(finding)}
    if stage is not Stage.PLAN:
        parts["confirmed"] = list_of({"type": "integer"})
        parts["retracted"] = list_of(object_of(number={"type": "integer"}, why={"type": "string"}))
    judge = {"type": "string", "enum": [*words.judges.values()]}
    whose = {"run": {"type": "string"}} if group else {}
    parts["verdicts"] = list_of(object_of(**whose, judge=judge, reasons={"type": "string"}, score=score))
    if lookup:
        parts["look"] = list_of(object_of(label={"type": ["string", "null"]}, find={"type": ["string", "null"]}))
    if stage is not Stage.PLAN:
        parts["summary"] = {"type": ["string", "null"]}
    return object_of(**parts)


def object_of(**properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties, all of them required."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list of these."""
    return {"type": "array", "items": items}


def parse(
    text: str,
    asked: Sequence[str] | RunsAsked,
    words: Vocabulary,
    *,
    scored: bool = True,
    may_look: bool = False,
) -> Answer:
    """Read the reply to a prompt that asked these judges (names), for their scores where `scored`.

    `asked`: for several runs, judges by the run's label; scores are by `score_key` then. `may_look`: whether it may ask
    to see more; a reply that does need not answer yet.

    Raises:
        AnswerError: nothing in it can be used.
    """
    reply = json_object(text, "findings")
    listed = reply.get("findings")
    if not isinstance(listed, list):
        raise AnswerError('"findings" must be a list, empty where there is nothing to report')
    found, problems = claims(listed, words)
    read = scores_of_runs if isinstance(asked, Mapping) else scores
    given, unscored = read(reply.get("verdicts"), asked, words) if scored else ({}, {})  # type: ignore[arg-type]  # by its kind
    lacking = [f'"verdicts": {name}: {why}' for name, why in unscored.items()]
    wanted = looks(reply.get("look")) if may_look else ()
    if not wanted and not found and not given and (problems or lacking):
        raise AnswerError((problems or lacking)[0])
    summary = reply.get("summary")
    return Answer(
        scores=given,
        unscored=unscored,
        claims=found,
        stands=decisions(reply.get("confirmed"), reply.get("retracted")),
        summary=leniency.text(summary, MAX_SUMMARY) if isinstance(summary, str) else "",
        unsound=len(listed) - len(found),
        problem=next(iter(problems), ""),
        looks=wanted,
    )
