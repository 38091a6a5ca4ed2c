"""`tracejury alerts test`: whether channels work, without a collector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_endpoints import KEY, chat_endpoint
from click.testing import CliRunner, Result
from hook_server import SECRET, answer, hook_server
from mail_server import mail_server

from tracejury.collector.cli.root import root

RULE = {"name": "high", "channels": ["chat", "pager"], "errors": {}}


def channel(name: str, kind: str, **settings: Any) -> Mapping[str, Any]:
    """A channel whose URL and secret, where it has them, stand in variables of its name."""
    return {"name": name, "kind": kind, **settings}


def run(folder: Path, name: str, environ: Mapping[str, str], *channels: Mapping[str, Any]) -> Result:
    """The command with a file of these channels, and of `RULE` where they have its channels."""
    file = folder / "tracejury.yaml"
    names = {each["name"] for each in channels}
    rules = [RULE] if names >= set(RULE["channels"]) else []
    file.write_text(yaml.safe_dump({"channels": list(channels), "alerts": {"rules": rules}}))
    return CliRunner(env=environ).invoke(root, ["alerts", "test", name, "--config", str(file)])


CHAT = channel("chat", "slack", url="${CHAT}")
PAGER = channel("pager", "pagerduty", url="${PAGER}", secret="${PAGER_KEY}")


def test_a_channel_that_works_is_said_in_one_line(tmp_path: Path) -> None:
    """It got an alert that says that it is a test."""
    with chat_endpoint("slack") as chat:
        result = run(tmp_path, "chat", {"CHAT": chat.url}, CHAT)
        assert (result.exit_code, result.output) == (0, "channel chat (slack) took the test alert\n")
        assert "Test alert of tracejury" in chat.said[0]["text"]
    assert not chat.problems


def test_the_channels_of_a_rule_are_tried_and_no_incident_stays_open(tmp_path: Path) -> None:
    """Each has its line; those that no rule of the name has are left alone."""
    with chat_endpoint("slack") as chat, chat_endpoint("pagerduty") as pager, hook_server() as other:
        environ = {"CHAT": chat.url, "PAGER": pager.url, "PAGER_KEY": KEY, "S": SECRET}
        unused = channel("unused", "webhook", url=other.url, secret="${S}")
        result = run(tmp_path, "high", environ, CHAT, PAGER, unused)
        assert result.exit_code == 0
        assert sorted(result.output.splitlines()) == [
            "channel chat (slack) took the test alert",
            "channel pager (pagerduty) opened and closed a test incident",
        ]
        assert [said["event_action"] for said in pager.said] == ["trigger", "resolve"]
        assert not pager.incidents
        assert not other.received


def test_one_that_fails_says_why_and_how_to_fix_it(tmp_path: Path) -> None:
    """The other is tried all the same."""
    with hook_server(answer(404)) as chat, chat_endpoint("pagerduty") as pager:
        environ = {"CHAT": f"{chat.url}/T0KEN", "PAGER": pager.url, "PAGER_KEY": KEY}
        result = run(tmp_path, "high", environ, CHAT, PAGER)
    assert result.exit_code == 1
    assert result.stdout == "channel pager (pagerduty) opened and closed a test incident\n"
    assert result.stderr == (
        "tracejury: channel chat (slack): HTTP 404: it does not know ${CHAT} (any longer): make a new one\n"
    )


def test_mail_is_tried_too(tmp_path: Path) -> None:
    """Over SMTP."""
    with mail_server() as server:
        mail = {"host": "localhost", "port": server.port, "security": "none", "sender": "j@example.com",
                "to": ["ops@example.com"]}  # fmt: skip
        result = run(tmp_path, "ops", {}, channel("ops", "email", mail=mail))
        assert (result.exit_code, result.output) == (0, "channel ops (email) took the test alert\n")
        assert len(server.mails) == 1


@pytest.mark.parametrize(
    ("name", "environ", "code", "told"),
    [
        ("other", {"CHAT": "http://h/"}, 4, "tracejury: no channel or rule 'other': there are chat\n"),
        ("chat", {}, 2, "tracejury: channel chat: ${CHAT}: this variable of the environment is not set\n"),
    ],
)
def test_what_there_is_not_is_told(name: str, environ: Mapping[str, str], code: int, told: str, tmp_path: Path) -> None:
    """With what there is."""
    result = run(tmp_path, name, environ, CHAT)
    assert (result.exit_code, result.stderr) == (code, told)
