"""A new file of task cards, one card after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tracejury.collector.judging.model.prompt_folder import PromptsLeftError
from tracejury.judges.llm.data_files import yaml_of
from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.schemas.errors import ConfigError


@dataclass(slots=True)
class CardsFile:
    """The file, open. `cards`: how many it holds."""

    path: Path
    file: TextIO
    cards: int = 0

    def add(self, card: TaskCard) -> None:
        """Write a card, with the keys that it was given, to the disk."""
        data = card.model_dump(exclude_unset=True, exclude={"user_turns"})
        if card.user_turns:
            data["user_turns"] = {str(behaviour): list(turns) for behaviour, turns in card.user_turns.items()}
        self.file.write(yaml_of([data]))
        self.file.flush()
        self.cards += 1


@contextmanager
def new_cards_file(path: Path) -> Iterator[CardsFile]:
    """A YAML file that was not there; without any card, or where prompts wait for replies, it is removed at the end.

    Raises:
        ConfigError: it is there, is no YAML file by its name, or cannot be made.
    """
    if path.suffix not in {".yaml", ".yml"}:
        raise ConfigError(f"--out: {path} must end in .yaml or .yml")
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise ConfigError(f"--out: {path} is there already, and no file is overwritten: name a new one") from None
    except OSError as error:
        raise ConfigError(f"--out: {path} cannot be made: {error.strerror}") from None
    with file:
        made = CardsFile(path, file)
        try:
            yield made
        except PromptsLeftError:
            made.cards = 0  # all that is written comes again, from the cassette, once they are answered
            raise
        finally:
            if not made.cards:
                path.unlink(missing_ok=True)
