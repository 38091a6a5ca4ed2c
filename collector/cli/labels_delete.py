"""`tracejury labels delete`."""

from __future__ import annotations

import click

from ..counting import counted
from .options import format_option, url_option


@click.command("delete")
@click.argument("ids", nargs=-1, metavar="[ANNOTATION...]")
@click.option("--trace", default="", metavar="ID", help="Of this trace, stored or not.")
@click.option("--run", default="", metavar="ID", help="Of this agent run.")
@click.option("--by", "annotator", default="", metavar="NAME", help="Of this annotator.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@format_option
@url_option
def delete_labels(*, ids: tuple[str, ...], yes: bool, style: str, url: str, **given: str) -> None:
    """Delete annotations by their ids, or all labels of a trace or an annotator, for good: with them goes their text.

    `labels withdraw` keeps what was said, as withdrawn.
    """
    from ..client import Client
    from ..client_labels import forget
    from ..terminal import one_line
    from . import output

    if not ids and not given["trace"] and not given["annotator"]:
        raise click.UsageError("name ANNOTATION ids, --trace ID or --by NAME")
    what = [*ids, *(f"{name} {value}" for name, value in given.items() if value)]
    if not yes:
        click.confirm(f"Delete what was said: {one_line(', '.join(what), 200)}?", abort=True, err=True)
    with Client(url) as client:
        deleted = sum(forget(client, {**given, "id": label_id}) for label_id in ids or ("",))
    if style == "json":
        output.show_json({"deleted": deleted})
    else:
        output.plain(f"{counted(deleted, 'label')} deleted")
