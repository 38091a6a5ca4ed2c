"""Arguments that come from nowhere: paths and answers that no earlier text of the run holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tracejury.judges.abstention import abstains
from tracejury.judges.base import Context
from tracejury.judges.claims import answer_text
from tracejury.judges.facts import RunFacts, TurnFacts, failed_calls
from tracejury.judges.names import Role
from tracejury.judges.quoting import quote_call, values_of
from tracejury.judges.rule import Hit, rule
from tracejury.judges.wording import WORDINGS
from tracejury.schemas.normalized import Json

from .completion import answer_quote

_PATH: Final = re.compile(r"^[\w./\\~ ()-]{1,200}\.[A-Za-z][A-Za-z0-9]{1,4}$")


def path_argument(arguments: Json) -> str:
    """A file name or path (no URL) among a call's arguments, "" where there is none."""
    flat = [w for v in values_of(arguments) for w in (v if isinstance(v, list) else [v])]
    return next((v for v in flat if isinstance(v, str) and "://" not in v and _PATH.match(v)), "")


MOST_PATHS: Final = 32
"""Paths of one run that are looked for in all that it has seen."""


def _invented_path(facts: RunFacts, _: Context) -> Iterator[Hit]:
    checked: set[str] = set()
    for turn, call in facts.once(failed_calls):
        # A command is no path, though it may end like one.
        if not turn.acting or call.role is not Role.ACCESS or call.runs_code:
            continue
        path = path_argument(call.call.arguments)
        if not path or len(checked) >= MOST_PATHS:
            continue
        checked.add(path)
        if not any(path in text for text in facts.texts_until(turn.position)):
            text = f"The call names the file {path[:80]!r}, which nothing seen so far mentions, and fails."
            yield Hit(turn.span_id, quote_call(turn.turn, call.call), text)


MOST_WORDS: Final = 6
"""Words of an answer that is short enough to be looked for."""

_WORD: Final = re.compile(r"\w{1,60}")


def unsupported_share(answer: str, texts: Sequence[str]) -> float:
    """Share of a short answer's words that none of `texts` holds (whatever the case); 0 for a long answer."""
    words = _WORD.findall(answer[:200])
    if not words or len(words) > MOST_WORDS:
        return 0.0
    missing = [w for w in words if w.lower() not in _VERDICTS and not any(w in t for t in texts)]
    for text in texts:
        if not missing:
            break
        low = text.lower()
        missing = [w for w in missing if w.lower()[:_STEM] not in low]
    return len(missing) / len(words)


_STEM: Final = 6
"""Letters by which a word is found in another form (booked in booking)."""


def _unobserved_answer(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn in facts.acts[-1:]:
        answer = answer_text(turn)
        if not answer or not facts.tools or _computes(turn, answer) or not _names_something(answer):
            continue
        # Sorting or judging what was given needs neither plan nor look-up, and its outcome stands nowhere before.
        if facts.plan_at[turn.position] < 0 and not any(t.attempted for t in facts.acts):
            continue
        # Harnesses need not send a result on in words: what the run's tools returned was there to be seen.
        before = facts.run.turns[: turn.position]
        results = [c.result for t in before for c in t.tool_calls if c.span is not None and c.result]
        if unsupported_share(answer, (*facts.texts_until(turn.position), *results)) >= HALF and not abstains(answer):
            text = "At least half of the words of this answer stand in nothing that the agent has seen."
            yield Hit(turn.span_id, answer_quote(turn), text)


def _names_something(answer: str) -> bool:
    """Whether an answer is a name, a number or a phrase rather than a verdict such as "yes" or "positive"."""
    words = _WORD.findall(answer[:200])
    return len(words) > 1 or any((w[0].isupper() or w[0].isdigit()) and w.lower() not in _VERDICTS for w in words)


_VERDICTS: Final = frozenset(WORDINGS["answers"]["verdicts"])

HALF: Final = 0.5


_ARITHMETIC: Final = re.compile(r"\d\s?[-+*/\u00d7\u00f7]\s?\d|\w\s?[*/]\s?\w+\b\s{0,2}\n|round\(")
_NUMBER: Final = re.compile(r"^[-+$]?[\d.,]{1,30}%?$")


def _computes(turn: TurnFacts, answer: str) -> bool:
    """Whether a number may have been computed here instead of having been observed."""
    if any(c.role is Role.COMPUTE for c in turn.calls):
        return True
    return bool(_NUMBER.match(answer.strip())) and bool(_ARITHMETIC.search(turn.text[:8000]))


RULES: Final = (
    rule(
        "invented-path",
        "Environment Setup Errors",
        "TC LC",
        "MEDIUM",
        _invented_path,
        version=4,
        of_failure=True,
        title="File name that nothing mentions",
        scope="turn",
    ),
    rule(
        "unobserved-answer",
        "Language-only",
        "LC",
        "HIGH",
        _unobserved_answer,
        version=4,
        title="Answer that nothing seen supports",
        scope="run",
    ),
)
