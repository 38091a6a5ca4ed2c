"""Words as a text has them, found by a copy that leaves out Markdown: judges often copy what they would read."""

from __future__ import annotations

from typing import Final

_MARKS: Final = frozenset("*_`#")


class Unmarked:
    """A text that is searched without its white space and marks of Markdown."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places = [place for place, letter in enumerate(text) if _counts(letter)]
        self._letters = "".join(text[place] for place in self._places)

    def find(self, copied: str, least: int = 1) -> str:
        """The first words of the text that the copy is of, "" for none; `least`: letters that a copy must have."""
        wanted = "".join(filter(_counts, copied))
        first = self._letters.find(wanted) if len(wanted) >= least else -1
        if first < 0:
            return ""
        return self._text[self._places[first] : self._places[first + len(wanted) - 1] + 1]


def _counts(letter: str) -> bool:
    return letter not in _MARKS and not letter.isspace()
