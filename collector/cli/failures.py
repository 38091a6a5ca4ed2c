"""Exit codes, and how an error becomes one line on stderr."""

from __future__ import annotations

import errno
import os
import signal
from typing import IO, Any, Final

import click

from tracejury.schemas.errors import ConfigError, NotFoundError, TracejuryError
from tracejury.schemas.text.terminal import one_line

EXIT_ERROR: Final = 1
EXIT_USAGE: Final = 2  # click's own
EXIT_FOUND: Final = 3
"""`errors --fail-on`: a finding of that severity or above shows."""
EXIT_UNKNOWN_ID: Final = 4
EXIT_INTERRUPTED: Final = 128 + signal.SIGINT
"""Ctrl-C, as shells have it."""

CONFIGURED: Final = frozenset({"serve", "demo", "migrate", "store", "validate"})
"""Commands that are wrong by their configuration or surroundings, such as a port that is taken; exit with 1."""

MAX_LINE = 2_000


class Failure(click.ClickException):
    """An error as one line, or a line a problem; they may quote what a client sent, so they are made safe."""

    exit_code = EXIT_ERROR

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(one_line(problem, MAX_LINE) for problem in problems))

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the lines."""
        for line in self.message.splitlines():
            click.echo(f"tracejury: {line}", file=file, err=file is None)


class UnknownId(Failure):
    """No such trace or span."""

    exit_code = EXIT_UNKNOWN_ID


class Interrupted(Failure):
    """Ctrl-C came before the command had its result."""

    exit_code = EXIT_INTERRUPTED


class InvalidValue(Failure):
    """A value of the command line means nothing, or names what there is not."""

    exit_code = EXIT_USAGE


class Misuse(Failure):
    """The command line itself is wrong."""

    exit_code = EXIT_USAGE

    def __init__(self, error: click.UsageError) -> None:
        path = error.ctx.command_path if error.ctx else "tracejury"
        super().__init__(f"{error.format_message()} ({path} --help tells more)")


def as_failure(error: Exception, command: str | None = None) -> Failure:
    """The one line and the exit code of any error of a command."""
    match error:
        case click.UsageError():
            return Misuse(error)
        case ConfigError() if command in CONFIGURED:
            return Failure(*str(error).splitlines())
        case TracejuryError():
            invalid = isinstance(error, ConfigError)
            kind = UnknownId if isinstance(error, NotFoundError) else InvalidValue if invalid else Failure
            return kind(str(error))
        case OSError(errno=int() as number) if number in errno.errorcode:
            place = f"{error.filename}: " if error.filename else ""
            return Failure(f"{place}{os.strerror(number)}")
        case ModuleNotFoundError():
            return Failure(f"a part is not installed ({error.name}); install it again with `make setup` or pip")
        case _:
            return Failure(f"unexpected {type(error).__name__}: {error} (--debug shows the traceback)")
