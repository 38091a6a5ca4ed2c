"""What `talk draft` and `talk rewrite` share: their options, and a run with what it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .interrupts import heed_ctrl_c
from .model_options import cassette_options, judges_settings, model_options
from .options import Decorator, format_option

if TYPE_CHECKING:
    from tracejury.collector.simulation.writing.plans import Plan
    from tracejury.collector.simulation.writing.write_cards import WrittenCard

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
    click.option("--partial", is_flag=True, help="Keep tasks of which some turns were left out."),
    model_options,
    format_option,
)


def writing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that both have, which are given to `write_turns`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def write_turns(
    plan_of: Callable[[int], Plan],
    *,
    paths: tuple[str, ...],
    out: Path,
    config_file: Path | None,
    partial: bool,
    style: str,
    **asked: Any,
) -> None:
    """Write turns for all cards and report them. `plan_of`: the plan, given the most tokens of an answer."""
    from tracejury.collector.config import load_config
    from tracejury.collector.simulation.writing.cards_file import new_cards_file
    from tracejury.collector.simulation.writing.write_cards import write_cards
    from tracejury.judges.packs.task_cards import load_cards
    from tracejury.schemas.text.counting import counted

    from . import output
    from .failures import Failure
    from .render.user_turns import user_turns_json, user_turns_table

    config = load_config(config_file, {"judges": judges_settings(asked)}).judges
    cards = load_cards(paths)
    reported: list[WrittenCard] = []
    stopped = False
    with new_cards_file(out) as file:

        def finished(card: WrittenCard) -> None:
            reported.append(card)
            if card.complete or partial:
                file.add(card.card)

        heed_ctrl_c()
        try:
            plan = plan_of(config.max_answer_tokens)
            asyncio.run(write_cards(cards.values(), plan, config, cassette_options(asked), finished))
        except KeyboardInterrupt:
            stopped = True
    output.show_report(style, reported, user_turns_json, user_turns_table)
    told = (
        f"{file.cards} of {counted(len(cards), 'task')} in {out}" if file.cards else "no task is left: nothing written"
    )
    if stopped or not file.cards:
        raise Failure(f"stopped: {told}" if stopped else told)
    output.note(told)
