"""Where output goes: results to stdout, progress and notes to stderr; colours only on a terminal."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Report = TypeVar("Report")

_NOT_PLAIN: Final = re.compile(r"[^\n -~]")
PIPE_WIDTH = 1_000  # nothing is folded for programs such as grep


def out() -> Console:
    """The console of results: as wide as its terminal (or COLUMNS), very wide where there is none."""
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=_width())


def show(renderable: RenderableType) -> None:
    """Print for people."""
    out().print(renderable)


def plain(text: str) -> None:
    """Print a text of ours, at once."""
    click.echo(text)
    sys.stdout.flush()


def show_json(value: object) -> None:
    """Print for programs: indented JSON, in ASCII so that no terminal and no encoding trips over it."""
    click.echo(json.dumps(value, indent=2, default=vars))


def show_report(
    style: str, report: Report, as_json: Callable[[Report], object], as_tables: Callable[[Report], RenderableType]
) -> None:
    """Print a report for programs ("json") or for people."""
    if style == "json":
        show_json(as_json(report))
    else:
        show(as_tables(report))


def show_json_line(value: object) -> None:
    """Print one item of a stream: JSON on a line of its own, at once."""
    click.echo(json.dumps(value, default=vars))
    sys.stdout.flush()


def note(text: str) -> None:
    """A remark beside the result, on stderr."""
    click.echo(text, err=True)


def for_terminal(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same JSON lines in ASCII: what controls a terminal stands in their texts as it was sent."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces:
        yield _NOT_PLAIN.sub(lambda found: json.dumps(found.group())[1:-1], decoder.decode(piece)).encode()


def progress() -> Progress:
    """A progress bar on stderr, shown on a terminal only."""
    console = Console(stderr=True, highlight=False)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _width() -> int | None:
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
