"""`tracejury keys`: make, list, revoke and rotate keys."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracejury.collector.cli import output
from tracejury.collector.cli.options import format_option
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.shown import shown_line
from tracejury.schemas.text.moments import iso_time, parse_length

if TYPE_CHECKING:
    from tracejury.collector.auth.key import AccessKey

_DAY = 86_400 * 10**9


class Length(click.ParamType[int]):
    """A length of time; the value is in nanoseconds."""

    name = "30d|12h|…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        if isinstance(value, int):
            return value
        try:
            return parse_length(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _file_options(command: Any) -> Any:
    config = click.option("--config", type=click.Path(path_type=Path), help="The collector's configuration file.")
    file = click.option("--file", type=click.Path(path_type=Path), help="The file of keys itself.")
    return config(file(command))


@click.group("keys")
def keys_command() -> None:
    """Make, list, revoke and rotate keys.

    The file holds hashes, and a running collector reads changes by itself. Once there is a key, every request needs
    one.
    """


@keys_command.command("create")
@click.option("--name", required=True, help="Whose it is: a person, a service, a machine.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["ingest", "read", "label", "admin"]),
    help="What it allows; several times for several. admin allows everything within the project.",
)
@click.option("--project", default="", help="The project that it belongs to; without one the default project.")
@click.option("--expires", type=Length(), default=0, help="After how long it ends; without it never.")
@_file_options
def create_command(
    *, name: str, scopes: Sequence[str], project: str, expires: int, config: Path | None, file: Path | None
) -> None:
    """Make a key and print it, once: it is kept nowhere."""
    from tracejury.collector.auth.key import KeyScope, new_key
    from tracejury.collector.auth.key_file import a_project, changing

    now = time.time_ns()
    path = _path(config, file)
    key, token = new_key(name, a_project(project), map(KeyScope, scopes), now, now + expires if expires else 0)
    with changing(path) as keys:
        keys.append(key)
    click.echo(token)
    output.note(f"{_told(key)}; its hash is in {path}. It is shown only now.")


@keys_command.command("list")
@_file_options
@format_option
def list_command(*, config: Path | None, file: Path | None, style: str) -> None:
    """List the keys of the file, without the keys themselves."""
    from tracejury.collector.auth.key_file import read_keys
    from tracejury.collector.cli.render.tables import rows_table

    keys = read_keys(_path(config, file))
    rows = [
        {
            "id": key.id,
            "name": key.name,
            "project": key.project,
            "scopes": sorted(key.scopes),
            "created": iso_time(key.created),
            "expires": iso_time(key.expires),
            "valid": key.is_valid(time.time_ns()),
        }
        for key in keys
    ]
    if style == "json":
        output.show_json(rows)
    else:
        output.show(
            rows_table(
                keys,
                "no keys yet: everything is open to this machine alone",
                {
                    "id": lambda key: key.id,
                    "name": lambda key: shown_line(key.name, 60),
                    "project": lambda key: key.project or "(default)",
                    "scopes": lambda key: ", ".join(sorted(key.scopes)),
                    "created": lambda key: iso_time(key.created) or "",
                    "expires": lambda key: iso_time(key.expires) or "never",
                },
            )
        )


@keys_command.command("revoke")
@click.argument("key_id", metavar="ID")
@_file_options
def revoke_command(*, key_id: str, config: Path | None, file: Path | None) -> None:
    """Take a key out of the file; a running collector refuses it within a second."""
    from tracejury.collector.auth.key_file import changing

    path = _path(config, file)
    with changing(path) as keys:
        keys.remove(_named(keys, key_id, path))
    output.note(f"the key {key_id} is revoked")


@keys_command.command("rotate")
@click.argument("key_id", metavar="ID")
@click.option("--keep", type=Length(), default=_DAY, help="How long the old one still holds; by default a day.")
@_file_options
def rotate_command(*, key_id: str, keep: int, config: Path | None, file: Path | None) -> None:
    """Make a key like another one, which ends soon, and print it, once."""
    from tracejury.collector.auth.key import new_key
    from tracejury.collector.auth.key_file import changing

    now = time.time_ns()
    with changing(_path(config, file)) as keys:
        old = _named(keys, key_id, _path(config, file))
        lasts = old.expires - old.created if old.expires else 0
        key, token = new_key(old.name, old.project, old.scopes, now, now + lasts if lasts else 0)
        ends = now + keep if keep else now
        keys[keys.index(old)] = replace(old, expires=min(old.expires or ends, ends))
        keys.append(key)
    click.echo(token)
    output.note(f"{_told(key)}; the key {key_id} holds until {iso_time(min(old.expires or ends, ends))}")


def _path(config: Path | None, file: Path | None) -> Path:
    """The file of keys. Raises ConfigError: the configuration cannot be read."""
    from tracejury.collector.config import load_config

    return file or Path(load_config(config).keys.file)


def _named(keys: Sequence[AccessKey], key_id: str, path: Path) -> AccessKey:
    if not keys:
        raise ConfigError(f"{path} holds no keys")
    found = next((key for key in keys if key.id == key_id), None)
    if found is None:
        raise NotFoundError(f"no key {key_id[:40]!r} is in {path}")
    return found


def _told(key: AccessKey) -> str:
    project = f"project {key.project}" if key.project else "the default project"
    ends = f"until {iso_time(key.expires)}" if key.expires else "until it is revoked"
    return f"key {key.id}: {', '.join(sorted(key.scopes))} in {project}, {ends}"
