"""Turns without the messages that a record of several runs shows already: a run is sent what was said before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tracejury.processors.novelty import message_key
from tracejury.schemas.trajectory import Turn, TurnKind

_USERS: Final = ("user", "human")


class Unsaid:
    """Remembers the messages of one record."""

    def __init__(self) -> None:
        self._said: set[int] = set()

    def turns(self, turns: Sequence[Turn], asked: str, *, begins_run: bool) -> Iterator[Turn]:
        """The turns with what is new in them, each as of the moment at which it is taken.

        `asked`: what they were asked by, which is shown apart. `begins_run`: the first of them is the run's first.
        """
        first = True
        for turn in turns:
            llm = turn.llm
            if llm is None or turn.kind is TurnKind.INNER:
                yield turn
                continue
            keys = [message_key(m) for m in turn.new_messages]
            again = self._said if begins_run and first else ()
            new = [m for m, key in zip(turn.new_messages, keys, strict=True) if key not in again]
            self._said.update(keys, map(message_key, llm.output_messages))
            if first:
                new = [m for m in new if m.role not in _USERS or not _is_part(m.text, asked)]
                if _is_part(llm.input_text, asked):
                    llm = replace(llm, input_text="")
            first = False
            yield replace(turn, llm=llm, new_messages=tuple(new))


def _is_part(text: str, asked: str) -> bool:
    """Whether `text` is one of the messages of which `asked` consists."""
    return f"\n\n{text.strip()}\n\n" in f"\n\n{asked.strip()}\n\n"
