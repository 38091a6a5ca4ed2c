"""`tracejury labels delete`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import format_option, url_option
from tracejury.schemas.text.counting import counted


@click.command("delete")
@click.argument("ids", nargs=-1, metavar="[ANNOTATION...]")
@click.option("--trace", metavar="ID", help="Of this trace, stored or not.")
@click.option("--run", metavar="ID", help="Of this agent run.")
@click.option("--by", "annotator", metavar="NAME", help="Of this annotator.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option
@url_option
def delete_labels(*, ids: tuple[str, ...], yes: bool, style: str, url: str, **given: str | None) -> None:
    """Delete annotations by their ids, or all labels of a trace or an annotator, for good: with them goes their text.

    `labels withdraw` keeps what was said, as withdrawn.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.schemas.text.terminal import one_line

    named = {name: value for name, value in given.items() if value is not None}
    # What a script left empty would delete all that is of the rest.
    if not all(value.strip() for value in (*ids, *named.values())):
        raise click.UsageError("ANNOTATION, --trace, --run and --by must not be blank")
    if not ids and not named.keys() & {"trace", "annotator"}:
        raise click.UsageError("name ANNOTATION ids, --trace ID or --by NAME")
    what = [*ids, *(f"{name} {value}" for name, value in named.items())]
    if not yes:
        click.confirm(f"Delete what was said: {one_line(', '.join(what), 200)}?", abort=True, err=True)
    with ApiClient(url) as client:
        deleted = sum(client.delete_labels(named | one) for one in ([{"id": label_id} for label_id in ids] or [{}]))
    if style == "json":
        output.show_json({"deleted": deleted})
    else:
        output.plain(f"{counted(deleted, 'label')} deleted")
