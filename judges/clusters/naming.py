"""Names of error types by a model: a label for each text or small group, then labels alike in meaning under one name.

After "Talk, evaluate, diagnose" (TED): low-level errors, then error types. What a model says is hostile and may be
wrong: labels of unknown errors are left out, what stands in two types or in none is kept apart, errors of different
tools are told apart again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.conversation import Asking, ask, together
from tracejury.judges.writing.answers import TEXT, WritingAnswer
from tracejury.judges.writing.prompts import DATA_RULE, fenced, writing_prompt
from tracejury.schemas.shown import shown

from .error_group import MOST_TEXTS, ErrorGroup, largest_first

A_CALL: Final = 50
"""Errors that one question labels."""

LONGEST_NAME: Final = 200
"""Characters of a label or name; the rest is cut."""

_READ: Final = 600
"""Characters of a text that a model reads."""

_RULES: Final = f"""\
You name the mistakes of AI agents, so that people see which kinds there are.

{DATA_RULE}"""

_LABEL: Final = """\
Give each error above a label: a short abstract description of the mistake. It does not repeat the reason, holds no \
private detail such as a name, number or value, and names the tool if one is given. Answer for each number once."""

_MERGE: Final = """\
Put the labels above that mean the same mistake under one name, the name of an error type. Types are as general and as \
few as they can be while distinct, and can be used for other tasks. Labels of different tools never share a type, and \
the name mentions the tool. A label that is marked as a type keeps its name. Each number stands in exactly one type."""


def _line(value: str) -> str:
    return " ".join(shown(value).split())[:LONGEST_NAME].strip()


_Line = Annotated[str, AfterValidator(_line)]


class LowLevelLabel(BaseModel):
    """The label of one error by its number."""

    model_config = WritingAnswer.model_config

    error: int
    label: _Line


class LowLevelLabels(WritingAnswer):
    """The labels of one question."""

    answer_schema = object_of(labels=list_of(object_of(error={"type": "integer"}, label=TEXT)))

    labels: tuple[LowLevelLabel, ...]


class ErrorTypeName(BaseModel):
    """A type with the numbers of its labels."""

    model_config = WritingAnswer.model_config

    name: _Line
    labels: tuple[int, ...]


class ErrorTypeNames(WritingAnswer):
    """All types."""

    answer_schema = object_of(types=list_of(object_of(name=TEXT, labels=list_of({"type": "integer"}))))

    types: tuple[ErrorTypeName, ...]


@dataclass(frozen=True, slots=True)
class NamedType:
    """A type by its name and tool, with the groups that got it; `tool` "" for none."""

    name: str
    tool: str
    groups: tuple[ErrorGroup, ...]


@dataclass(frozen=True, slots=True)
class NamedTypes:
    """What came of the questions. `types`: those of groups that had none.

    `apart`: labels that stood in two types or in none, and so are types of their own; `unknown`: numbers that there
    are not; `unlabelled`: groups without a label, which stay without a name; `failures`: why questions had no answer.
    """

    types: Sequence[NamedType] = ()
    apart: int = 0
    unknown: int = 0
    unlabelled: int = 0
    failures: tuple[str, ...] = ()


def name_types(
    unnamed: Sequence[ErrorGroup], kept: Sequence[ErrorGroup], *, max_tokens: int
) -> Generator[Sequence[Prompt], Outcomes, NamedTypes]:
    """The types of the largest groups without a name, beside the types that have one, which these may join.

    Raises what `together` does.
    """
    units = largest_first(unnamed)[:MOST_TEXTS]
    parts = [units[at : at + A_CALL] for at in range(0, len(units), A_CALL)]
    said = yield from together(_labels(part, max_tokens) for part in parts)
    labels: defaultdict[tuple[str, str], list[ErrorGroup]] = defaultdict(list)
    names: dict[tuple[str, str], str] = {}
    for part, one in zip(parts, said, strict=True):
        for at, label in one.by_number.items():
            key = part[at - 1].tool, label.casefold()
            labels[key].append(part[at - 1])
            names.setdefault(key, label)
    known = [NamedType(one.name, one.tool, ()) for one in largest_first(kept)[:MOST_TEXTS]]
    candidates = [*known, *(NamedType(names[key], key[0], tuple(own)) for key, own in labels.items())]
    merged, apart = _Merged(), 0
    if labels and len(candidates) > 1:
        (merged,) = yield from together([_types(candidates, max_tokens)])
        apart = sum(bool(one.groups) and at not in merged.home for at, one in enumerate(candidates, 1))
    return NamedTypes(
        _told_apart(candidates, merged),
        apart=apart,
        unknown=merged.unknown + sum(one.unknown for one in said),
        unlabelled=len(units) - sum(map(len, labels.values())),
        failures=tuple(dict.fromkeys(filter(None, [*(one.failure for one in said), merged.failure]))),
    )


def with_tool(name: str, tool: str) -> str:
    """The name of a type, which mentions its tool."""
    return name if not tool or tool.casefold() in name.casefold() else f"{name} ({_line(tool)})"


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Labels by the number of an error, and how many numbers there are not."""

    by_number: Mapping[int, str]
    unknown: int
    failure: str


@dataclass(frozen=True, slots=True)
class _Merged:
    """Of each candidate that stands in exactly one type, by number: the number of this type. `names`: of the types."""

    home: Mapping[int, int] = field(default_factory=dict)
    names: Sequence[str] = ()
    unknown: int = 0
    failure: str = ""


def _labels(units: Sequence[ErrorGroup], max_tokens: int) -> Asking[_Labelled]:
    lines = (_listed(at, unit.tool, unit.example.text[:_READ]) for at, unit in enumerate(units, 1))
    said = yield from ask(_prompt("errors", lines, _LABEL, LowLevelLabels, max_tokens), LowLevelLabels.read)
    found: dict[int, str] = {}
    for one in said.answer.labels if said.answer else ():
        if one.label:
            found.setdefault(one.error, one.label)
    known = {at: label for at, label in found.items() if 1 <= at <= len(units)}
    return _Labelled(known, len(found) - len(known), said.failure)


def _types(candidates: Sequence[NamedType], max_tokens: int) -> Asking[_Merged]:
    lines = (
        _listed(at, one.tool, one.name if one.groups else f"{one.name} [a type]")
        for at, one in enumerate(candidates, 1)
    )
    said = yield from ask(_prompt("labels", lines, _MERGE, ErrorTypeNames, max_tokens), ErrorTypeNames.read)
    types = said.answer.types if said.answer else ()
    stands = Counter(number for one in types for number in set(one.labels))
    known = range(1, len(candidates) + 1)
    home = {number: at for at, one in enumerate(types) for number in one.labels if stands[number] == 1}
    return _Merged(
        {number: at for number, at in home.items() if number in known},
        [one.name for one in types],
        sum(number not in known for number in stands),
        said.failure,
    )


def _told_apart(candidates: Sequence[NamedType], merged: _Merged) -> tuple[NamedType, ...]:
    """The types of candidates with groups: of one tool each, under the name of a known one where it holds such."""
    known: dict[tuple[int, str], str] = {}
    for number, one in enumerate(candidates, 1):
        if not one.groups and number in merged.home:
            known.setdefault((merged.home[number], one.tool), one.name)
    found: defaultdict[tuple[str, str], list[ErrorGroup]] = defaultdict(list)
    for number, one in enumerate(candidates, 1):
        if one.groups:
            at = merged.home.get(number)
            name = one.name if at is None else known.get((at, one.tool)) or merged.names[at] or one.name
            found[one.tool, with_tool(name, one.tool)] += one.groups
    return tuple(NamedType(name, tool, tuple(groups)) for (tool, name), groups in found.items())


def _listed(number: int, tool: str, text: str) -> str:
    about = f" (tool {_line(tool)})" if tool else ""
    return f"{number}.{about} {' '.join(text.split())}"


def _prompt(name: str, lines: Iterable[str], question: str, answer: type[WritingAnswer], max_tokens: int) -> Prompt:
    shown_lines = fenced(name, "\n".join(lines))
    return writing_prompt(_RULES, shown_lines, question, answer, max_tokens=max_tokens, purpose="clusters")
