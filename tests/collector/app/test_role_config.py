"""What each role asks of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tracejury.collector.cli.root import root
from tracejury.collector.config import load_config
from tracejury.schemas.errors import ConfigError

SERVER = {"dsn": "clickhouse://db:8123"}
HOOK = {"name": "ops", "url": "https://hooks.example", "secret": "${NO_SUCH_VARIABLE}"}
MODEL = {"model": "openai/x", "judge_files": ["missing.yaml"]}


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"role": "receive"}, r"^role: one process alone owns an embedded store.*clickhouse://"),
        ({"role": "web", "store": {"dsn": "chdb:///./x"}}, r"^role: one process alone"),
        ({"role": "worker"}, r"^role: .*'all', 'receive', 'work' or 'web'"),
        ({"role": "work", "store": SERVER, "webhooks": [HOOK]}, r"^api\.public_url: .*web process"),
    ],
)
def test_what_a_role_cannot_do_is_one_clear_line(sections: dict[str, Any], problem: str) -> None:
    """Each names its place."""
    with pytest.raises(ConfigError, match=problem) as raised:
        load_config(None, sections)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        # Keys of models and secrets of webhooks are the workers', receivers' endpoints the receivers'.
        (
            {"role": "web", "webhooks": [HOOK], "judges": MODEL, "grpc": {"endpoint": "0.0.0.0:4317"}},
            "ok (role web ignores grpc, webhooks)",
        ),
        (
            {"role": "receive", "webhooks": [HOOK], "judges": MODEL, "prices": {}},
            "ok (role receive ignores judges, webhooks)",
        ),
        ({"role": "work", "http": {"endpoint": "0.0.0.0:4318"}}, "ok (role work ignores http)"),
        ({"role": "receive", "grpc": {"endpoint": "0.0.0.0:4317"}}, "can be reached from other machines"),
        (
            {"role": "work", "webhooks": [HOOK], "api": {"public_url": "https://tracejury.example"}},
            "NO_SUCH_VARIABLE",
        ),
        ({"role": "work", "judges": MODEL}, "missing.yaml"),
        ({"store": SERVER}, "ok"),
    ],
)
def test_a_role_needs_what_concerns_it_alone(tmp_path: Path, sections: dict[str, Any], said: str) -> None:
    """The rest of a file that all processes share is ignored, and named once where it says something."""
    file = tmp_path / "tracejury.yaml"
    file.write_text(yaml.safe_dump({"store": SERVER} | sections), "utf-8")
    result = CliRunner().invoke(root, ["validate", str(file)])
    assert said in (result.output or str(result.exception))
