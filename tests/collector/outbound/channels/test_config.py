"""The configuration of channels: what is wrong is one line, and no secret is repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hook_server import SECRET

from tracejury.collector.cli.root import root
from tracejury.collector.outbound.channels.build import build_channels
from tracejury.collector.outbound.channels.config import ChannelConfig

MAIL = {"host": "smtp.example.com", "sender": "jury@example.com", "to": ["ops@example.com"]}
CHAT = {"name": "team", "kind": "slack", "url": "${HOOK}"}
ENVIRON = {"HOOK": "https://hooks.example.com/T0KEN", "KEY": "T0KEN", "SIGN": SECRET, "ODD": "T0KEN\nx: y"}


def validated(folder: Path, *channels: Any, environ: dict[str, str] | None = None) -> str:
    """What `tracejury validate` says."""
    file = folder / "tracejury.yaml"
    file.write_text(yaml.safe_dump({"channels": list(channels)}))
    result = CliRunner(env=ENVIRON if environ is None else environ).invoke(root, ["validate", str(file)])
    assert result.exit_code == (0 if result.output == "ok\n" else 1)
    assert "T0KEN" not in result.output
    return result.output.removeprefix("tracejury: ").removeprefix(f"{file}: ").removesuffix("\n")


@pytest.mark.parametrize(
    "channel",
    [
        CHAT,
        {**CHAT, "kind": "teams"},
        {**CHAT, "kind": "discord"},
        {"kind": "pagerduty", "secret": "${KEY}"},
        {"kind": "pagerduty", "secret": "${KEY}", "url": "https://events.eu.pagerduty.com/v2/enqueue"},
        {"kind": "opsgenie", "secret": "${KEY}", "url": "https://api.eu.opsgenie.com"},
        {"kind": "email", "mail": MAIL},
        {"kind": "email", "mail": {**MAIL, "user": "jury"}, "secret": "${KEY}"},
        {"kind": "webhook", "url": "https://example.com/alerts", "secret": "${SIGN}"},
    ],
)
def test_each_kind_is_accepted(channel: Any, tmp_path: Path) -> None:
    """With what it needs."""
    assert validated(tmp_path, {"name": "team", **channel}) == "ok"


@pytest.mark.parametrize(
    ("channel", "told"),
    [
        ({"kind": "slack"}, "a channel of kind slack needs the key url"),
        ({**CHAT, "url": "https://hooks.example.com/T0KEN"}, "the URL of a channel of kind slack is a secret: write $"),
        ({**CHAT, "secret": "${KEY}"}, "a channel of kind slack has no key secret"),
        ({**CHAT, "mail": MAIL}, "a channel of kind slack has no key mail"),
        ({"kind": "pagerduty"}, "a channel of kind pagerduty needs the key secret"),
        ({"kind": "pagerduty", "secret": "T0KEN"}, "channels.0.secret: a secret stands in the environment"),
        ({"kind": "opsgenie", "secret": "${KEY}", "url": "ftp://h/"}, "channels.0.url: an http:// or https:// URL"),
        ({"kind": "email"}, "a channel of kind email needs the key mail"),
        ({"kind": "email", "mail": {**MAIL, "to": []}}, "channels.0.mail.to: must have at least 1 item"),
        ({"kind": "email", "mail": {**MAIL, "to": ["a@b.c\nBcc: x@y.z"]}}, "channels.0.mail.to.0: a mail address"),
        ({"kind": "email", "mail": {**MAIL, "to": ["Ops <o@example.com>"]}}, "channels.0.mail.to.0: a mail address"),
        ({"kind": "email", "mail": {**MAIL, "user": "jury"}}, "mail.user and secret, the variable with its password"),
        (
            {"kind": "email", "mail": {**MAIL, "user": "jury", "security": "none"}, "secret": "${KEY}"},
            "a password is not sent in the clear",
        ),
        ({"kind": "pigeon"}, "channels.0.kind: "),
        ({**CHAT, "url": "${UNSET}"}, "channel team: ${UNSET}: this variable of the environment is not set"),
        ({**CHAT, "url": "${KEY}"}, "channel team: ${KEY}: an http:// or https:// URL is expected"),
        (
            {"kind": "webhook", "url": "http://h/", "secret": "${KEY}"},
            "channel team: ${KEY}: a signing secret is",
        ),
        ({"kind": "pagerduty", "secret": "${ODD}"}, "channel team: ${ODD}: a secret is printable ASCII"),
        ({**CHAT, "ca_file": "/nowhere/ca.pem"}, "channel team: ca_file: /nowhere/ca.pem cannot be read"),
    ],
)
def test_what_is_wrong_is_one_line(channel: Any, told: str, tmp_path: Path) -> None:
    """With its place."""
    said = validated(tmp_path, {"name": "team", **channel})
    assert told in said
    assert len(said.splitlines()) == 1


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    """Rules would mean both."""
    assert validated(tmp_path, CHAT, CHAT) == "channels: two are called team"


@pytest.mark.parametrize(
    ("kind", "pages"), [("slack", False), ("email", False), ("pagerduty", True), ("opsgenie", True)]
)
def test_pagers_are_told_apart(kind: str, *, pages: bool) -> None:
    """They get no digest."""
    known: dict[str, Any] = {"slack": {"url": "${HOOK}"}, "email": {"mail": MAIL}}
    settings = known.get(kind, {"secret": "${KEY}"})
    config = ChannelConfig.model_validate({"name": "team", "kind": kind, **settings})
    assert config.kind.is_pager is pages
    assert list(build_channels([config], ENVIRON)) == ["team"]
