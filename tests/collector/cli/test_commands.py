"""The commands that ask no collector, and what the command line is made of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tracejury.collector.cli.commands.demo import demo_command
from tracejury.collector.cli.failures import as_failure
from tracejury.collector.cli.root import COMMANDS, root
from tracejury.schemas.errors import ConfigError

HEAVY = {
    "pydantic",
    "fastapi",
    "grpc",
    "httpx",
    "rich",
    "clickhouse_connect",
    "chdb",
    "uvicorn",
    "opentelemetry",
    "yaml",
}


def test_help_imports_nothing_heavy() -> None:
    """Help must be there at once: only click and the table of commands."""
    code = (
        "import sys\nfrom tracejury.collector.cli.root import root\n"
        "root(['--help'], standalone_mode=False)\nprint(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603  ours
    assert not HEAVY & set(result.stderr.split())
    for name, text in COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert text in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_table_says(name: str) -> None:
    """Each has its help, without importing what only running it needs."""
    result = CliRunner().invoke(root, [name, "--help"])
    assert result.exit_code == 0
    assert f"Usage: root {name}" in result.stdout


def test_every_command_and_option_is_documented() -> None:
    """docs/cli.md names them all."""
    text = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    ctx = click.Context(root)
    for name in COMMANDS:
        command = root.get_command(ctx, name)
        assert command is not None
        assert f"`{name}" in text
        options = {o for p in command.params if isinstance(p, click.Option) for o in p.opts}
        undocumented = {o for o in options - {"--url", "--format"} if o not in text}
        assert (name, undocumented) == (name, set())


def test_code_of_agents_writes_nothing_to_the_terminal(tmp_path: Path) -> None:
    """Python's own warnings of odd literals repeat their characters, control characters among them."""
    code = (
        "import sys, warnings\nfrom tracejury.collector.cli.root import root\n"
        "from tracejury.processors.normalize.literals import parse_literal\n"
        "warnings.simplefilter('always')\n"
        "root(['validate', sys.argv[1]], standalone_mode=False)\n"
        "parse_literal('[\"' + chr(92) + chr(27) + '\"]'), parse_literal('[0x1for 2]')"
    )
    (tmp_path / "empty.yaml").write_text("{}")
    command = [sys.executable, "-c", code, str(tmp_path / "empty.yaml")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  ours
    assert result.stderr == ""


def test_ctrl_c_ends_a_command_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """As early as it comes, with the exit code that shells give it."""

    def interrupted(**_given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_command, "callback", interrupted)
    result = CliRunner().invoke(root, ["demo"])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "")


def test_version_is_the_packages() -> None:
    """What is installed."""
    from tracejury import __version__

    assert CliRunner().invoke(root, ["--version"]).stdout == f"tracejury, version {__version__}\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("grpc:\n  endpoint: 127.0.0.1:14317\n", []),
        ("grcp: {}\n", ["grcp: there is no such key here; did you mean grpc?"]),
        ("judging: {quiet: 5}\n", ["judging.quiet: there is no such key here; did you mean quiet_seconds?"]),
        (
            "prices: {a/b: {input_usd_per_million: 1, output_usd_per_million: 1, cached: 1}}\n",
            ["prices.a/b.cached: there is no such key here; did you mean cached_usd_per_million?"],
        ),
        ("keys: {zzz: 1}\n", ["keys.zzz: there is no such key here"]),
        ("grpc: {endpoint: 0.0.0.0:4317}\n", ["grpc endpoint 0.0.0.0:4317 can be reached from other machines"]),
        ("grpc: {endpoint: 0.0.0.0:4317}\ninsecure: true\n", []),
        ("api:\n  port: 1\njudging:\n  quiet_seconds: -1\n", ["judging.quiet_seconds", "api.port"]),
        ("- a\n", ["mapping"]),
        ("a: [\n", ["not YAML"]),
        ("judges: {model: some/model, judges: [plan-quality]}\n", []),
        ("judges: {model: some/model, judges: [plan-qualty]}\n", ["no judge named 'plan-qualty'"]),
        ("judges: {model: some/model, policies: [{judges: [mine]}]}\n", ["judges.policies.0.judges: no judge 'mine'"]),
        ("judges: {model: some/model, judge_files: [/none/mine.yaml]}\n", ["cannot read /none/mine.yaml"]),
        ("judges: {model: some/model, criteria: mine}\n", ["/mine': use production, paper, or a folder"]),
        (
            'webhooks: [{name: ops, url: "http://127.0.0.1:1/", secret: "${TRACEJURY_TEST_UNSET}"}]\n',
            ["webhook ops: ${TRACEJURY_TEST_UNSET}: this variable of the environment is not set"],
        ),
    ],
)
def test_validate_prints_ok_or_a_line_a_problem(tmp_path: Path, text: str, lines: list[str]) -> None:
    """Each line names the place in the file."""
    file = tmp_path / "config.yaml"
    file.write_text(text)
    result = CliRunner().invoke(root, ["validate", str(file)])
    assert result.exit_code == (1 if lines else 0)
    assert result.stdout == ("" if lines else "ok\n")
    assert len(result.stderr.splitlines()) == len(lines)
    for line, part in zip(result.stderr.splitlines(), lines, strict=True):
        assert part in line


def test_a_wrong_configuration_is_told_the_same_by_whatever_reads_it(tmp_path: Path) -> None:
    """A line a problem."""
    file = tmp_path / "config.yaml"
    file.write_text("keys: {zzz: 1}\napi: {endpoint: 5}\n")
    results = [CliRunner().invoke(root, args) for args in (["serve", "--config", str(file)], ["validate", str(file)])]
    told = [
        f"tracejury: {file}: {line}" for line in ("api.endpoint: must be text", "keys.zzz: there is no such key here")
    ]
    assert [(result.exit_code, result.stderr.splitlines()) for result in results] == [(1, told)] * 2


def test_validate_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    """One line that names it."""
    result = CliRunner().invoke(root, ["validate", str(tmp_path / "none.yaml")])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "none.yaml" in result.stderr


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("--grpc", "0.0.0.0:0"), "--insecure"),
        (("--http", "0.0.0.0:0"), "--insecure"),
        (("--api", "192.168.7.7:0"), "--insecure"),
        (("--grpc", "nonsense"), "nonsense"),
        (("--store", "mysql://x"), "mysql"),
        (("--store", ""), "expected chdb:///folder"),
        (("--config", "none.yaml"), "none.yaml"),
    ],
)
def test_serve_refuses_what_cannot_be_or_must_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], part: str
) -> None:
    """One line, before anything listens."""
    monkeypatch.chdir(tmp_path)
    free = [option for name in ("grpc", "http", "api") for option in (f"--{name}", "127.0.0.1:0")]
    result = CliRunner().invoke(root, ["serve", *free, *args])
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)
    assert part in result.stderr


def test_migrate_applies_once_and_tells_the_status(new_dsn: str) -> None:
    """Pending before, applied after, nothing to do the second time."""

    def migrate(*options: str) -> str:
        return CliRunner().invoke(root, ["migrate", "--store", new_dsn, *options], catch_exceptions=False).stdout

    pending, done = migrate("--status").splitlines(), migrate().splitlines()
    again, applied = migrate(), migrate("--status").splitlines()
    assert [line.split() for line in pending] == [["pending", line.split()[1]] for line in done]
    assert done == applied
    assert done
    assert again == "nothing to do: the store is up to date\n"


def test_replay_of_nothing_that_is_a_trace(tmp_path: Path) -> None:
    """The line names the file; where nothing listens, the line says how to start it."""
    (tmp_path / "x.json").write_text('{"a": 1}')
    missing = CliRunner().invoke(root, ["replay", str(tmp_path / "none.pb")])
    wrong = CliRunner().invoke(root, ["replay", str(tmp_path / "x.json"), "--endpoint", "127.0.0.1:1"])
    for result in (missing, wrong):
        assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "none.pb" in missing.stderr


def test_evaluate_of_a_folder_without_traces(tmp_path: Path) -> None:
    """One line that says what was expected; a wrong profile likewise."""
    for args, code in (((), 1), (("--profile", "brave"), 2)):
        result = CliRunner().invoke(root, ["evaluate", "trail", str(tmp_path), *args])
        assert (result.exit_code, len(result.stderr.splitlines())) == (code, 1)


@pytest.mark.parametrize(
    ("command", "code"), [("rates", 2), ("evaluate", 2), ("serve", 1), ("demo", 1), ("migrate", 1), ("store", 1)]
)
def test_what_is_wrong_with_a_configuration_is_no_misuse(command: str, code: int) -> None:
    """A value of the command line that means nothing is; a port that is taken is a failure."""
    assert as_failure(ConfigError("no such thing"), command).exit_code == code


def a_shell(script: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which `$TJ` is the command."""
    program = f"{sys.executable} -c 'from tracejury.collector.cli.root import main; main()'"
    return subprocess.run(  # noqa: S603  ours
        ["/bin/sh", "-c", f'tj() {{ {program} "$@"; }}; {script}'],
        cwd=folder, env=os.environ | env, capture_output=True, text=True, check=False, encoding="utf-8",
    )  # fmt: skip


def test_a_terminal_without_a_character_shows_a_question_mark(tmp_path: Path) -> None:
    """Names that people and spans gave stop no list, whatever the encoding of the terminal."""
    done = a_shell(
        "tj keys create --name 'Zo\u00eb \u2588' --scope read && tj keys list", tmp_path, PYTHONIOENCODING="ascii"
    )
    assert done.returncode == 0, done.stderr
    assert "Zo? ?" in done.stdout


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    """As of any program: what is written there is lost."""
    done = a_shell("tj keys list >&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
