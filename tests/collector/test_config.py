"""The configuration file: usable defaults, one clear line for each mistake, a reference that is never out of date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tracejury.collector.cli.config_docs import reference
from tracejury.collector.config import CollectorConfig, load_config
from tracejury.collector.store.dsn import parse_dsn
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import ConfigError

CASES = Path(__file__).parent / "config"
REFERENCE = Path(__file__).parents[2] / "docs" / "configuration.md"


@pytest.mark.parametrize("file", sorted(CASES.glob("accepted_*.yaml")), ids=lambda f: f.stem)
def test_accepted(file: Path) -> None:
    """The file loads, and what it sets is set."""
    config = load_config(file).model_dump(mode="json")
    for section, values in (yaml.safe_load(file.read_text()) or {}).items():
        expected: Any = values or {}
        found = config[section]
        if isinstance(expected, dict):
            found = {key: found[key] for key in expected}
        assert found == expected


@pytest.mark.parametrize("file", sorted(CASES.glob("refused_*.yaml")), ids=lambda f: f.stem)
def test_refused(file: Path) -> None:
    """The first line of the file says which part of the error text must name the mistake and its place."""
    expected = file.read_text().splitlines()[0].removeprefix("# ")
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert expected in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    """It says which, and why."""
    with pytest.raises(ConfigError, match=r"cannot read .*none\.yaml: No such file"):
        load_config(tmp_path / "none.yaml")


def test_options_win_over_the_file() -> None:
    """Key by key, not section by section."""
    file = CASES / "accepted_full.yaml"
    config = load_config(file, {"judging": {"quiet_seconds": 1.5}})
    assert config.judging.quiet_seconds == 1.5
    assert config.judging.rootless_seconds == load_config(file).judging.rootless_seconds


def test_paths_of_a_file_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever in it they stand; names, absolute paths and those of the command line stay as they are."""
    file = tmp_path / "a b" / "tracejury.yaml"
    file.parent.mkdir()
    file.write_text(
        """
        store: {dsn: "chdb:///./db", backups: ../copies}
        writer: {dead_letter: /var/dead}
        grpc: {tls: {cert: tls/cert.pem, key: tls/key.pem}}
        judges: {criteria: mine, judge_files: [a.yaml, /b.yaml], tasks: [cards]}
        export: {otlp: [{name: x, endpoint: "https://h:1", ca_file: ca.pem}]}
        webhooks: [{name: h, url: "https://h/hook", secret: "${HOOK}", ca_file: hook.pem}]
        channels: [{name: c, kind: slack, url: "${HOOK}", ca_file: chat.pem}]
        """
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK", "0123456789abcdef0123456789abcdef")
    config = load_config(Path("a b/tracejury.yaml"), {"judges": {"examples": "few.yaml"}})
    folder = str(file.parent)
    assert config.grpc.tls is not None
    assert parse_dsn(config.store.dsn).path == f"{folder}/db"
    assert (config.store.backups, config.writer.dead_letter) == (f"{folder}/../copies", "/var/dead")
    assert (config.grpc.tls.cert, config.grpc.tls.client_ca) == (f"{folder}/tls/cert.pem", "")
    judges = config.judges
    assert (judges.criteria, judges.judge_files, judges.tasks) == (
        f"{folder}/mine",
        (f"{folder}/a.yaml", "/b.yaml"),
        (f"{folder}/cards",),
    )
    assert (judges.examples, config.export.otlp[0].ca_file) == ("few.yaml", f"{folder}/ca.pem")
    assert config.webhooks[0].ca_file == f"{folder}/hook.pem"
    assert config.channels[0].ca_file == f"{folder}/chat.pem"
    file.write_text("judges: {criteria: paper}\nstore: {dsn: 'clickhouse://h:8123/a'}")
    named = load_config(file)
    assert (named.judges.criteria, named.store.dsn) == ("paper", "clickhouse://h:8123/a")


def test_every_problem_is_named() -> None:
    """Not only the first."""
    with pytest.raises(ConfigError) as caught:
        load_config(None, {"api": {"port": 1}, "shutdown_seconds": 0})
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == ["api.port", "shutdown_seconds"]


def test_the_defaults_are_those_of_the_design() -> None:
    """A trace settles after 5 s of quiet, without a root after 10 min, at the latest after 24 h; 30 days are kept."""
    config = CollectorConfig()
    times = config.judging.assembler()
    assert (times.quiet, times.rootless, times.max_age) == (5 * SECOND, 600 * SECOND, 86_400 * SECOND)
    assert config.store.retention_days == 30
    assert config.limits.request_bytes == 64 * 2**20
    endpoints = (config.grpc.endpoint, config.http.endpoint, config.api.endpoint)
    assert endpoints == ("127.0.0.1:4317", "127.0.0.1:4318", "127.0.0.1:8321")


def test_the_reference_in_the_docs_is_the_generated_one() -> None:
    """`make docs` was run after the last change of a key; every key says what it means."""
    assert REFERENCE.read_text() == reference()
    rows = [line for line in reference().splitlines() if line.startswith("| `")]
    assert rows
    assert all(row.split("|")[3].strip() for row in rows)


def test_the_reference_says_what_a_list_of_sections_means_and_gives_defaults_as_yaml() -> None:
    """Above the keys of one policy stands how policies work together; nobody writes Python's None into the file."""
    page = reference()
    assert "## `judges.policies[]`\n\nWhich runs are judged; a run that none fits is not." in page
    assert "| `usd_per_hour` | `null` |" in page
    assert "None`" not in page


def test_the_shipped_configuration_is_accepted() -> None:
    """What deploy/ offers can be served as it is."""
    config = load_config(Path(__file__).parents[2] / "deploy" / "tracejury.yaml")
    assert config.store.fsync
    assert config.shutdown_seconds < 45, "the unit's TimeoutStopSec"
