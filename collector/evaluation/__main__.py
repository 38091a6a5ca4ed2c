"""`python -m tracejury.collector.evaluate DIR`: the figures without transport and store, for work on detectors."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from ...judges.registry import default_suite
from ..judging.detect.direct import judge
from . import as_json, as_tables, evaluate, load


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--profile", "profiles", multiple=True, default=("balanced",), help="May be given several times.")
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table")
def main(folder: Path, profiles: tuple[str, ...], style: str) -> None:
    """Judge the traces of FOLDER in this process and score the findings."""
    trail = load(folder)
    judged = judge(trail.requests, default_suite())
    for profile in profiles:
        evaluation = evaluate(trail, judged, profile=profile, protocol="direct")
        if style == "json":
            click.echo(json.dumps(as_json(evaluation), indent=2))
        else:
            Console(width=160, highlight=False, markup=False).print(as_tables(evaluation))


if __name__ == "__main__":
    main()
