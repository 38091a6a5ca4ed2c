"""The decisive error of a trace: the judge that names it, and the text in which it says why and what was right."""

from __future__ import annotations

from typing import Final

DECISIVE: Final = "decisive-error"
"""The judge. Its finding marks the error that it names in `linked`, or is an error that nobody else found."""

_INSTEAD: Final = "Instead:"


def told(why: str, instead: str) -> str:
    """Why an error decided, and what should have been done, as the explanation of a finding."""
    return f"{why} {_INSTEAD} {instead}" if instead else why


def why_and_instead(explanation: str) -> tuple[str, str]:
    """Why an error decided, and what should have been done ("" where nothing says so)."""
    at = explanation.casefold().rfind(_INSTEAD.casefold())
    if at < 0:
        return explanation, ""
    return explanation[:at].strip(), explanation[at + len(_INSTEAD) :].strip()
