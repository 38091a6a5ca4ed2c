"""`tracejury clusters`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracejury.collector.cli.judges_options import config_option
from tracejury.collector.cli.model_options import cassette_options, judges_section, model_options
from tracejury.collector.cli.options import (
    Moment,
    api_options,
    filter_options,
    profile_option,
    show_rows,
    simulated_option,
    since_option,
)
from tracejury.schemas.figure_filters import MEASURE_FILTERS
from tracejury.schemas.filters import ERROR_FILTERS, named

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.judging.model.cassette import CassetteOptions
    from tracejury.collector.judging.model.config import LlmConfig
    from tracejury.judges.clusters.error_group import ErrorGroup
    from tracejury.judges.clusters.naming import NamedTypes
    from tracejury.schemas.wire.clusters import UnnamedGroupJson


@click.command("clusters")
@since_option
@click.option("--until", type=Moment(), default="", help="Only before this point in time, as in --since.")
@profile_option
@filter_options(*named(MEASURE_FILTERS, "pack"), *named(ERROR_FILTERS, "judge", "service"))
@filter_options(*named(MEASURE_FILTERS, "task"))
@simulated_option
@click.option("--limit", type=click.IntRange(min=1, max=1000), default=100, show_default=True, help="Clusters at most.")
@config_option
@model_options
@api_options
def clusters_command(
    *,
    since: str,
    until: str,
    profile: str,
    pack: str,
    judge: str,
    service: str,
    task: str,
    simulated: bool,
    limit: int,
    config_file: Path | None,
    style: str,
    url: str,
    **asked: Any,
) -> None:
    """Put alike errors together: the most frequent kinds, and whether there are more of them than before.

    Without --since: of the last day, beside the day before. With a model (--model, or --config), kinds that have no
    name yet get one, which is stored; without, they keep the terms that they share.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.clusters import clusters_table, naming_remarks

    config, cassette = judges_section(asked, config_file), cassette_options(asked)
    filters = {"since": since, "until": until, "profile": profile, "pack": pack, "judge": judge, "service": service}
    filters |= {"task": task, "simulated": "true" if simulated else ""}
    with ApiClient(url) as client:
        if config.on or cassette.path:
            for remark in naming_remarks(_named(client, client.cluster_units(filters), config, cassette)):
                output.note(remark)
        shown = {**filters, "limit": str(limit), "tools": "true" if style == "json" else ""}
        show_rows(client.clusters(shown), clusters_table, style)


def _named(
    client: ApiClient, units: Sequence[UnnamedGroupJson], config: LlmConfig, cassette: CassetteOptions
) -> NamedTypes:
    """Have the model name what has no name, and the collector store it."""
    from tracejury.judges.clusters.clustering import MOST_NAMED
    from tracejury.judges.clusters.error_group import ClusteredError, ErrorGroup
    from tracejury.judges.clusters.naming import NamedTypes

    groups = [
        ErrorGroup(
            errors := tuple(ClusteredError(one.text, error_id, tool=one.tool) for error_id in one.error_ids),
            errors[0],
            one.name,
            named=bool(one.name),
        )
        for one in units
    ]
    types = NamedTypes()
    if not all(group.named for group in groups):
        types = asyncio.run(_ask(groups, config, cassette))
    # Kept names are stored with the errors that came since: earlier ones leave the time that is asked for.
    known = [(group.name, (group,)) for group in groups if group.named]
    for name, own in (*known, *((one.name, one.groups) for one in types.types)):
        ids = [error.id for group in own for error in group.errors]
        for at in range(0, len(ids), MOST_NAMED):
            client.name_errors(name, ids[at : at + MOST_NAMED])
    return types


async def _ask(groups: Sequence[ErrorGroup], config: LlmConfig, cassette: CassetteOptions) -> NamedTypes:
    from tracejury.collector.judging.llm.run_prompts import run_prompts
    from tracejury.collector.judging.model.budgeted import budget_of
    from tracejury.collector.judging.model.build import open_model
    from tracejury.collector.judging.model.cassette import open_cassette
    from tracejury.judges.clusters.naming import name_types

    unnamed, kept = [one for one in groups if not one.named], [one for one in groups if one.named]
    asking = name_types(unnamed, kept, max_tokens=config.max_answer_tokens)
    with open_cassette(cassette, config) as recorded:
        async with open_model(config, cassette=recorded, budget=budget_of(config.budget)) as model:
            types = await run_prompts(asking, model.client)
        recorded.all_answered()
    return types
