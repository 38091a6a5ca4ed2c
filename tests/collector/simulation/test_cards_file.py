"""Cards written to a file are read again as they were."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from user_scripts import CARD

from tracejury.collector.simulation.writing.cards_file import new_cards_file
from tracejury.judges.packs.cards.task_cards import TaskCard, load_cards
from tracejury.judges.packs.cards.user_turns import Behaviour

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from([*Behaviour]), st.tuples(TEXTS, TEXTS), min_size=1), TEXTS, st.dates().map(str))
def test_cards_are_read_as_they_were(turns: dict[Behaviour, tuple[str, str]], text: str, day: str) -> None:
    """Also a date that was written in quotes: it stays text."""
    oracle = {"steps": [{"id": "s", "tool": text, "arguments": {text: [text, None, 1.5, day]}, "write": None}]}
    cards = [
        TaskCard.model_validate({**CARD, "id": name, "instruction": text, "user_turns": turns, "oracle": oracle})
        for name in "ab"
    ]
    with TemporaryDirectory() as folder:
        with new_cards_file(Path(folder) / "out.yaml") as file:
            for card in cards:
                file.add(card)
        read = load_cards([str(file.path)])
    assert [*read.values()] == cards
    assert all(card.model_fields_set == cards[0].model_fields_set for card in read.values())
