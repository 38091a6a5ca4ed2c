"""What `talk draft` and `talk rewrite` share: their options, and a run with what it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .interrupts import heed_ctrl_c
from .model_options import cassette_options, judges_settings, model_options
from .options import Decorator, format_option

if TYPE_CHECKING:
    from tracejury.judges.packs.task_cards import TaskCard
    from tracejury.judges.writing.units import WrittenUnit

_OPTIONS: tuple[Decorator, ...] = (
    click.argument("paths", metavar="CARDS...", nargs=-1, required=True),
    click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        required=True,
        metavar="FILE",
        help="A new YAML file for the cards with their turns.",
    ),
    click.option(
        "--config",
        "config_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A configuration file, for its section judges: model, key and budget; options go before it.",
    ),
    click.option("--partial", "keep_partial", is_flag=True, help="Keep tasks of which some turns were left out."),
    model_options,
    format_option,
)


def writing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that both have, which are given to `write_turns`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


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
    from tracejury.collector.config import load_config
    from tracejury.collector.simulation.writing.cards_file import new_cards_file
    from tracejury.collector.simulation.writing.write_units import write_units
    from tracejury.judges.packs.loader import load_writer
    from tracejury.judges.packs.task_cards import load_cards
    from tracejury.schemas.text.counting import counted

    from . import output
    from .failures import Failure
    from .render.user_turns import user_turns_json, user_turns_table

    config = load_config(config_file, {"judges": judges_settings(asked)}).judges
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
