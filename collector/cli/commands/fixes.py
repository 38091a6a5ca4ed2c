"""`tracejury fixes`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracejury.collector.cli.labels_options import login
from tracejury.collector.cli.options import format_option

if TYPE_CHECKING:
    from tracejury.schemas.wire.clusters import ClustersJson


@click.command("fixes")
@click.argument("file", metavar="CLUSTERS.json", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--as", "kind", type=click.Choice(["insert", "notes", "checklist"]), required=True,
    help="insert: for the agent's instructions; notes: for a person to edit; "
    "checklist: two user turns before the first.",
)  # fmt: skip
@click.option("--author", default=login, metavar="NAME", help="Who edits the notes; the login name by default.")
@format_option
def fixes_command(*, file: Path, kind: str, author: str, style: str) -> None:
    """Write texts for an agent from the named clusters of `tracejury clusters --format json`.

    No agent is changed. Read the text first: names are made of words from spans.
    """
    from tracejury.collector.cli import output
    from tracejury.collector.cli.failures import Failure
    from tracejury.judges.clusters.fixes import FixKind, make_fix
    from tracejury.schemas.simulation import FIX

    page = _read(file)
    named = [one for one in page.items if one.named]
    if not named:
        raise Failure(f"{file}: none of its {len(page.items)} clusters has a name: run tracejury clusters with --model")
    tools = {tool: page.tools[tool] for tool in {one.tool for one in named} & page.tools.keys()}
    fix = make_fix(FixKind(kind), [one.name for one in named], tools, author if kind == FixKind.NOTES else "")
    if style == "json":
        turns = [{"role": "user", "content": text} for text in fix.texts] if kind == FixKind.CHECKLIST else None
        output.show_json(
            {"id": fix.id, "as": kind, "author": fix.author or None, "texts": fix.texts, "messages": turns}
        )
        return
    output.plain("\n---\n\n".join(fix.texts).rstrip("\n"))
    output.note(f"once it is in use: OTEL_RESOURCE_ATTRIBUTES={FIX}={fix.id}")


def _read(file: Path) -> ClustersJson:
    from pydantic import ValidationError

    from tracejury.judges.llm.problems import place_of, told
    from tracejury.schemas.errors import ConfigError
    from tracejury.schemas.wire.clusters import ClustersJson

    try:
        return ClustersJson.model_validate_json(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        why = f"{place_of(first)}: {told(first)}" if first["loc"] else told(first)
        raise ConfigError(f"{file} holds no clusters as tracejury clusters --format json writes them: {why}") from None
