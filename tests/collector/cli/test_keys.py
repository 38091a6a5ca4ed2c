"""`tracejury keys`: each command on a file, as users call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tracejury.collector.auth.key import KeyScope
from tracejury.collector.auth.key_file import read_keys
from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.cli.root import root
from tracejury.schemas.errors import UnauthorizedError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["keys", *map(str, arguments)], catch_exceptions=False)


def test_a_key_is_printed_once_and_opens(file: Path) -> None:
    """Only its hash is kept; what it is goes to stderr, so that stdout can be piped."""
    made = run("create", "--name", "agents", "--scope", "ingest", "--project", "shop", "--file", file)
    token = made.stdout.strip()
    assert Keyring(file, {}).check(token, KeyScope.INGEST, "").project == "shop"
    assert token not in file.read_text()
    assert "ingest in project shop, until it is revoked" in made.stderr
    listed = run("list", "--file", file)
    assert token not in listed.stdout
    assert "shop" in listed.stdout


def test_a_rotated_key_holds_for_its_time_and_a_revoked_one_no_longer(file: Path) -> None:
    old = run("create", "--name", "n", "--scope", "read", "--expires", "30d", "--file", file).stdout.strip()
    key_id = old.split("_")[1]
    new = run("rotate", key_id, "--keep", "1h", "--file", file).stdout.strip()
    first, second = read_keys(file)
    assert (second.name, second.scopes, second.expires > first.expires) == (first.name, first.scopes, True)
    for token in (old, new):
        Keyring(file, {}).check(token, KeyScope.READ, "")
    assert run("revoke", key_id, "--file", file).exit_code == 0
    with pytest.raises(UnauthorizedError):
        Keyring(file, {}).check(old, KeyScope.READ, "")
    rows = json.loads(run("list", "--file", file, "--format", "json").stdout)
    assert [row["id"] for row in rows] == [second.id]


def test_the_file_is_beside_the_configuration(tmp_path: Path) -> None:
    """Or where the configuration says."""
    config = tmp_path / "conf" / "tracejury.yaml"
    config.parent.mkdir()
    config.write_text("")
    run("create", "--name", "n", "--scope", "read", "--config", config)
    assert (config.parent / "tracejury-keys.json").exists()
    config.write_text("keys: {file: other.json}\n")
    run("create", "--name", "n", "--scope", "read", "--config", config)
    assert (config.parent / "other.json").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "--name", "n", "--scope", "root"), "root"),
        (("create", "--name", "n", "--scope", "read", "--project", "../x"), "no name of a project"),
        (("create", "--name", "n", "--scope", "read", "--expires", "soon"), "no length of time"),
        (("create", "--scope", "read"), "--name"),
        (("create", "--name", "n"), "--scope"),
        (("revoke", "00000000"), "holds no keys"),
    ],
)
def test_mistakes_are_one_line(file: Path, arguments: tuple[str, ...], told: str) -> None:
    done = run(*arguments, "--file", file)
    assert done.exit_code != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not file.exists() or not read_keys(file)
