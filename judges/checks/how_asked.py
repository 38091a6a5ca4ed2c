"""How checks are asked: formulas, versions, mode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from .check_types import Check
from .formula import Formula
from .prompt_text import CHECK_PROMPT_VERSION
from .questions import Mode
from .reply import CHECK_ANSWER_VERSION

_LATER: Final = ("criteria", "reports", "quoted", "unproven", "runs", "of", "persona", "shows")
"""Keys that checks came to have: those that do without keep their versions."""
_APART: Final = ("title", "definition", "explain", "settles", "averaged", "validates")
"""Keys that change no answer: words for people, when a check is asked, and what its value is used for."""


@dataclass(frozen=True, slots=True)
class HowAsked:
    """`formulas` and `versions` by the check's name.

    `mode`: "together" puts the checks of a subject into one call, "separate" makes one call an item. `repeat`: number
    of the asking, from 0, where one subject is judged several times by the same question. `early_stop`: of the runs of
    a check, those after the first (runs + 1) / 2 are made one at a time, while an item is undecided. `temperature`,
    `top_p`: of the calls; None is the model's setting.
    """

    formulas: Mapping[str, Formula]
    versions: Mapping[str, str]
    max_answer_tokens: int = 4096
    mode: Mode = "together"
    repeat: int = 0
    early_stop: bool = False
    temperature: float | None = None
    top_p: float | None = None


def check_version(
    check: Check,
    pack: str,
    model: str,
    parameters: Mapping[str, Any],
    mode: Mode = "together",
    max_answer_tokens: int = 4096,
) -> str:
    """12 hex digits over all that may change the check's answers; no model where none is asked.

    `pack`: its name, and whatever else of it decides, such as the text of its formulas.
    """
    unset = {name for name in _LATER if getattr(check, name) == Check.model_fields[name].default}
    text = check.model_dump_json(exclude={*_APART} | unset)
    parts = [text, pack, str(CHECK_ANSWER_VERSION)]
    if check.asks:
        sent = json.dumps(dict(parameters), sort_keys=True, default=str)
        parts += [str(CHECK_PROMPT_VERSION), model, sent, mode, str(max_answer_tokens)]
    return blake2b(json.dumps(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
