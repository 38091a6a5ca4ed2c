"""`tracejury evaluate frameworks DIR`."""

from __future__ import annotations

from pathlib import Path

import click

from ..options import format_option


@click.command("frameworks")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--shuffle", type=int, metavar="SEED", help="Take spans and log records in random order.")
@click.option("--label", default="", metavar="LABEL", help="Only the captures in this folder of DIR.")
@click.option("--list", "listed", is_flag=True, help="Show what the exports cannot tell, and by which rule.")
@format_option
def frameworks(*, folder: Path, shuffle: int | None, label: str, listed: bool, style: str) -> None:
    """Rebuild captures of agent frameworks (DIR/LABEL/NAME.zip, NAME.meta.json) and score what comes out.

    docs/frameworks.md tells what every line of the table says.
    """
    from ...evaluation.frameworks.report import as_json, as_list, as_tables
    from ...evaluation.frameworks.run import evaluate_frameworks
    from .. import output

    with output.progress() as bar:
        task = bar.add_task("captures", total=None)
        found = evaluate_frameworks(
            folder,
            label=label,
            shuffle=shuffle,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    output.show_report(style, found, as_json, as_list if listed else as_tables)
