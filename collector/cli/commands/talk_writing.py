"""`tracejury talk draft CARDS` and `talk rewrite CARDS`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracejury.collector.cli.interrupts import heed_ctrl_c
from tracejury.collector.cli.judges_options import config_option
from tracejury.collector.cli.model_options import cassette_options, judges_section, model_options
from tracejury.collector.cli.options import Decorator, combined, format_option

if TYPE_CHECKING:
    from tracejury.judges.packs.cards.task_cards import TaskCard
    from tracejury.judges.writing.units import WrittenUnit

writing_options: Decorator = combined(
    click.argument("paths", metavar="CARDS...", nargs=-1, required=True),
    click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, metavar="FILE",
                 help="A new YAML file for the cards with their turns."),
    config_option,
    click.option("--partial", "keep_partial", is_flag=True, help="Keep tasks of which some turns were left out."),
    model_options,
    format_option,
)  # fmt: skip
"""Options that both have, which are given to `write_turns`."""


@click.command("draft")
@click.option(
    "--turns", type=click.IntRange(1, 3), default=None,
    help="Turns of each task, at most one a step (default: one for every two steps, up to 3).",
)  # fmt: skip
@writing_options
def draft_command(*, turns: int | None, **given: Any) -> None:
    """Have a model write what an ideal user says, one turn for each part of the oracle's steps."""
    write_turns("draft", {"turns": turns}, **given)


@click.command("rewrite")
@writing_options
def rewrite_command(**given: Any) -> None:
    """Have a model write the turns of an ideal user in the words of the six other users."""
    write_turns("rewrite", {}, **given)


def write_turns(
    writer: str,
    options: Mapping[str, Any],
    *,
    paths: tuple[str, ...],
    out: Path,
    config_file: Path | None,
    keep_partial: bool,
    style: str,
    **asked: Any,
) -> None:
    """Write turns for all cards and report them. `writer`: its name in a pack; `options`: its own."""
    from tracejury.collector.cli import output
    from tracejury.collector.cli.failures import Failure
    from tracejury.collector.cli.render.user_turns import user_turns_json, user_turns_table
    from tracejury.collector.simulation.writing.cards_file import new_cards_file
    from tracejury.collector.simulation.writing.write_units import write_units
    from tracejury.judges.packs.cards.task_cards import load_cards
    from tracejury.judges.packs.loader import load_writer
    from tracejury.schemas.text.counting import counted

    config = judges_section(asked, config_file)
    write = partial(load_writer(writer), max_tokens=config.max_answer_tokens, **options)
    cards = load_cards(paths)
    reported: list[WrittenUnit[TaskCard]] = []
    stopped = False
    with new_cards_file(out) as file:

        def finished(card: WrittenUnit[TaskCard]) -> None:
            reported.append(card)
            if card.complete or keep_partial:
                file.add(card.unit)

        heed_ctrl_c()
        try:
            asyncio.run(write_units(cards.values(), write, config, cassette_options(asked), finished))
        except KeyboardInterrupt:
            stopped = True
    output.show_report(style, reported, user_turns_json, user_turns_table)
    told = (
        f"{file.cards} of {counted(len(cards), 'task')} in {out}" if file.cards else "no task is left: nothing written"
    )
    if stopped or not file.cards:
        raise Failure(f"stopped: {told}" if stopped else told)
    output.note(told)
