"""`tracejury export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

import click

from tracejury.collector.cli import output
from tracejury.collector.cli.failures import Failure
from tracejury.collector.cli.options import filter_options, profile_option, since_option, url_option
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import EXPORT_FILTERS
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.terminal import one_line

_OF_ERRORS: Final = ("service", "agent", "judge", "category")
_OF_TRACES: Final = ("service", "agent", "session")
_ROW: Final = {"findings": "finding", "errors": "error", "runs": "agent run", "trail": "trace"}


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, readable=False, path_type=Path))
@click.option("--errors", "rows", flag_value="errors", help="A row an error, instead of a row a finding.")
@click.option("--runs", "rows", flag_value="runs", help="A row an agent run, instead of a row a finding.")
@click.option("--trail", "rows", flag_value="trail", help="A row a trace, in the layout of TRAIL's annotations.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "parquet"]),
    help="JSON lines or Parquet (default: by the name of FILE).",
)
@filter_options(*EXPORT_FILTERS)
@profile_option
@since_option
@click.option("--no-transcripts", "bare", is_flag=True, help="Leave the transcripts out.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many rows; without it all.")
@url_option
def export_command(
    file: Path, *, rows: str | None, form: str | None, bare: bool, limit: int | None, url: str, **given: str | None
) -> None:
    """Write findings or errors with the agent run around them, or agent runs, to FILE for a data set ("-" is stdout).

    Latest first. A row holds the run's transcript, its steps labelled, and what people say of it. FILE appears once it
    is complete; a pipe or a device is written to as rows come.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.schemas.wire.dataset import UNJUDGED

    params = {name: value for name, value in given.items() if value}
    params["rows"] = rows or "findings"
    params["format"] = form or _form(file)
    params["transcripts"] = "false" if bare else "true"
    if limit:
        params["limit"] = str(limit)
    with ApiClient(url) as client:
        # The lists of the same filters refuse unknown names; a stream could only be empty.
        list_rows, kinds = (client.errors, _OF_ERRORS) if rows in (None, "errors") else (client.traces, _OF_TRACES)
        if names := {name: params[name] for name in kinds if name in params}:
            list_rows(names, 1)
        headers: dict[str, str] = {}
        counter = _Counted(client.stream("/api/export", params, headers.update))
        to_stdout = _write(file, counter)
    amount = f"{counter.size:,} bytes"
    if params["format"] == "jsonl":
        amount = f"{counted(counter.lines, _ROW[params['rows']])}, {amount}"
    click.echo(f"wrote {amount}" if to_stdout else f"wrote {one_line(str(file))}: {amount}", err=to_stdout)
    waiting = int(headers.get(UNJUDGED.lower(), 0))
    if waiting:
        output.note(
            f"{counted(waiting, 'trace')} not judged yet: what will be found there is missing; export again later"
        )


def _form(file: Path) -> str:
    """By the name of the file; raises ConfigError for a name that says something else."""
    known = {"": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
    if file.suffix.lower() not in known:
        raise ConfigError(
            f"no format {file.suffix!r}: a data set is JSON lines (.jsonl) or Parquet (.parquet); "
            "--format says which, whatever the name"
        )
    return known[file.suffix.lower()]


class _Counted:
    """The pieces; `lines` and `size` (bytes) of those that were taken."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.lines = self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self.lines += piece.count(b"\n")
            self.size += len(piece)
            yield piece


def _write(file: Path, pieces: Iterable[bytes]) -> bool:
    """Whether they went to stdout."""
    if str(file) == "-" or _is_stdout(file):
        _copy(output.for_terminal(pieces) if sys.stdout.isatty() else pieces, sys.stdout.buffer)
        return True
    try:
        if file.exists() and not file.is_file():  # a pipe or a device: whoever reads it has it open
            with file.open("wb") as target:
                _copy(pieces, target)
        else:
            _replace(file.resolve(), pieces)
    except (OSError, RuntimeError) as error:  # the latter: links in a circle
        raise Failure(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from None
    return False


def _is_stdout(file: Path) -> bool:
    """Also by another name, as /dev/stdout and /dev/fd/1 are: where it is a file, it is not to be replaced."""
    try:
        return os.path.samestat(file.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # there is no such file, or no stdout
        return False


def _replace(file: Path, pieces: Iterable[bytes]) -> None:
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as target:
            _copy(pieces, target)
            target.flush()
            os.fsync(target.fileno())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _copy(pieces: Iterable[bytes], target: IO[bytes]) -> None:
    for piece in pieces:
        target.write(piece)
