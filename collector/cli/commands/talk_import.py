"""`tracejury talk import FILE`."""

from __future__ import annotations

from pathlib import Path

import click

from tracejury.schemas.text.counting import counted


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--from", "form", type=click.Choice(["ted", "milestones", "oracle"]), required=True,
    help="ted: the data of TED's authors; milestones: tasks with milestones and edges; oracle: cards with oracles.",
)  # fmt: skip
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="CARDS.yaml",
              help="A new YAML file for the cards.")  # fmt: skip
@click.option("--max-turns", type=click.IntRange(1, 20), default=None, help="Exchanges that each task may take.")
def import_command(*, file: Path, form: str, out: Path, max_turns: int | None) -> None:
    """Make task cards with grading notes; no model is asked."""
    from tracejury.collector.simulation.writing.cards_file import new_cards_file
    from tracejury.judges.packs.cards.imported import imported_cards

    cards = imported_cards(file, form, max_turns)
    with new_cards_file(out) as written:
        for card in cards:
            written.add(card)
    click.echo(f"{counted(len(cards), 'card')} with {counted(sum(len(card.notes) for card in cards), 'note')} in {out}")
