"""docs/chat.md: its configurations are valid, and its command runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from chat_endpoints import KEY, chat_endpoint
from click.testing import CliRunner
from hook_server import SECRET

from tracejury.collector.cli.root import root
from tracejury.collector.outbound.channels.config import KEYS, ChannelKind

PAGE = (Path(__file__).parents[4] / "docs" / "chat.md").read_text("utf-8")
BLOCKS = [block.replace("\n    ", "\n") for block in re.findall(r"(?<=\n\n)    ((?:.+\n|\n(?=    ))+)", PAGE)]
FIRST, ALL = (block for block in BLOCKS if block.startswith("channels:"))
(COMMAND,) = (block for block in BLOCKS if block.startswith("tracejury "))
ENVIRON = {
    **dict.fromkeys(("SLACK_URL", "TEAMS_URL", "DISCORD_URL"), "https://chat.example/T0KEN"),
    **dict.fromkeys(("PAGERDUTY_KEY", "OPSGENIE_KEY", "JSM_KEY", "SMTP_PASSWORD"), KEY),
    "HOOK_SECRET": SECRET,
}


@pytest.mark.parametrize("text", [FIRST, ALL], ids=["first", "all"])
def test_a_configuration_of_the_page_is_valid(text: str, tmp_path: Path) -> None:
    """With the variables that it names."""
    file = tmp_path / "tracejury.yaml"
    file.write_text(text)
    result = CliRunner(env=ENVIRON).invoke(root, ["validate", str(file)])
    assert result.output == "ok\n"


def test_the_page_shows_each_kind() -> None:
    """And those that take another URL with one."""
    shown = yaml.safe_load(ALL)["channels"]
    assert {channel["kind"] for channel in shown} == set(ChannelKind)
    assert {channel["kind"] for channel in shown if "https:" in channel.get("url", "")} == {
        kind for kind, keys in KEYS.items() if (keys.default or "url" in keys.needed) and not keys.is_url_secret
    }


def test_the_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its first configuration in the working directory."""
    monkeypatch.chdir(tmp_path)
    with chat_endpoint("slack") as service:
        Path("tracejury.yaml").write_text(FIRST)
        result = CliRunner(env={**ENVIRON, "SLACK_URL": service.url}).invoke(root, shlex.split(COMMAND)[1:])
        assert (result.exit_code, len(service.said)) == (0, 1)
