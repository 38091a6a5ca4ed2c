"""`tracejury labels import`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracejury.collector.cli.failures import EXIT_ERROR
from tracejury.collector.cli.labels_options import as_option
from tracejury.collector.cli.options import url_option

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.labels.lines import LabelLine


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...", type=click.Path(exists=True, allow_dash=True))
@click.option("--reviewed", is_flag=True, help="Annotators have looked at the whole of each TRAIL trace.")
@as_option
@url_option
def import_labels(*, paths: tuple[str, ...], reviewed: bool, annotator: str, url: str) -> None:
    """Take labels from files: JSON lines as `labels export` writes them (-: stdin), or TRAIL annotations (.json, DIR).

    The same again changes nothing. A line that cannot be taken is named on stderr, and the others are taken. TRAIL's
    annotators have no names: they are --as.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.labels.lines import pages

    counts: Counter[str] = Counter()
    with ApiClient(url) as client:
        for page in pages(_good(_lines(client, paths, annotator, reviewed=reviewed), counts)):
            answer = client.import_labels([line.item for line in page], only_new=not page[0].settled)
            counts.update(taken=answer.changed, known=answer.unchanged, refused=len(answer.refused))
            for refusal in answer.refused:
                _complain(page[refusal.index].place, refusal.detail)
    refused = f", {counts['refused']} refused" if counts["refused"] else ""
    click.echo(f"{counts['taken']} taken, {counts['known']} known already{refused}")
    if refused:
        raise click.exceptions.Exit(EXIT_ERROR)


def _good(lines: Iterable[LabelLine], counts: Counter[str]) -> Iterator[LabelLine]:
    for line in lines:
        if line.problem:
            _complain(line.place, line.problem)
            counts["refused"] += 1
        else:
            yield line


def _lines(client: ApiClient, paths: Iterable[str], annotator: str, *, reviewed: bool) -> Iterator[LabelLine]:
    from tracejury.collector.labels.lines import read_lines, read_trail, reviews_of, trail_files

    for path in paths:
        files = trail_files(Path(path)) if path != "-" else []
        if files or (path != "-" and Path(path).is_dir()):
            lines = list(read_trail(files, annotator))
            yield from lines
            if reviewed:
                yield from reviews_of(lines, annotator, partial(_run_ids, client))
        else:
            with click.open_file(path, "rb") as stream:
                yield from read_lines(path, stream, annotator)


def _run_ids(client: ApiClient, trace_id: str) -> list[str]:
    return [run.id for run in client.trace(trace_id).agent_runs]


def _complain(place: str, why: str) -> None:
    from tracejury.collector.cli import output
    from tracejury.schemas.text.terminal import one_line

    output.note(one_line(f"{place}: {why}", 500))
