"""Backends out of the configuration: secrets from the environment, never shown; certificates; one line a mistake."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pydantic import SecretStr

from tracejury.collector.cli.root import root
from tracejury.collector.config import load_config
from tracejury.collector.otlp.secrets import without
from tracejury.collector.outbound.otlp.backend_connection import check_exports, connection_of
from tracejury.collector.outbound.otlp.config import BackendConfig
from tracejury.schemas.errors import ConfigError


def backend(**changes: Any) -> BackendConfig:
    return BackendConfig(**{"name": "there", "endpoint": "https://example.org/otel/"} | changes)


def test_headers_are_filled_from_the_environment() -> None:
    """Each variable in its place; what is no variable stays."""
    config = backend(headers={"authorization": SecretStr("Bearer ${KEY}"), "x": SecretStr("$5 ${A}${B}")})
    connection = connection_of(config, 0, {"KEY": "sesame-1234", "A": "a", "B": "b"})
    assert connection.headers == {"authorization": "Bearer sesame-1234", "x": "$5 ab"}
    assert connection.endpoint == "https://example.org/otel"
    assert {"sesame-1234", "Bearer sesame-1234"} <= connection.secrets


def test_white_space_at_the_ends_of_a_value_is_no_part_of_it() -> None:
    """A variable that was read from a file ends in a line feed; HTTP refuses such a value at each request."""
    config = backend(headers={"a": SecretStr(" Bearer ${KEY} "), "b": SecretStr("${EMPTY}")})
    assert connection_of(config, 0, {"KEY": "sesame-1234\n", "EMPTY": " "}).headers == {
        "a": "Bearer sesame-1234",
        "b": "",
    }


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("Bearer ses\\ame'12", 'Illegal header value b"Bearer ses\\\\ame\'12"'),
        ('key="sesame12"', '{"error": "key=\\"sesame12\\" is none"}'),
        ("tenant=a,token=sesame12", "no such token: sesame12"),
        ("Basic dXNlcjpzZXNhbWUxMg==", "wrong password sesame12 of user"),
        ("Basic dXNlcjpzZXNhbWUxMg==", "user:sesame12?"),
    ],
)
def test_a_secret_is_not_shown_as_an_error_quotes_it(value: str, told: str) -> None:
    """Escaped, in parts, or decoded."""
    shown = without(told, connection_of(backend(headers={"k": SecretStr(value)}), 0).secrets)
    assert "***" in shown
    assert not re.search(r"ame.?12", shown)


def test_secrets_are_in_no_representation() -> None:
    """A log line or a traceback may hold one."""
    config = load_config(
        None, {"export": {"otlp": [{"name": "a", "endpoint": "http://h:1", "headers": {"k": "sesame-1234"}}]}}
    )
    shown = f"{config!r} {config.model_dump()} {config.model_dump_json()} {connection_of(config.export.otlp[0], 0)!r}"
    assert "sesame" not in shown


def test_a_wrong_section_with_a_secret_is_refused_without_it() -> None:
    """The line names the place, not the value."""
    wrong = {"name": "a", "endpoint": "http://h:1", "headers": {"k": ["sesame-1234"]}, "protocol": "sesame-5678"}
    with pytest.raises(ConfigError) as caught:
        load_config(None, {"export": {"otlp": [wrong]}})
    assert "export.otlp.0.headers.k" in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"headers": {"k": "${NOT_SET_ANYWHERE}"}}, ".headers.k: the environment variable NOT_SET_ANYWHERE is not set"),
        ({"headers": {"k": "a\u00e9"}}, ".headers.k: its value holds what a header cannot: use printable ASCII"),
        ({"headers": {"Content-Length": "7"}}, ".headers.Content-Length: this one is set by us"),
        ({"ca_file": "/nowhere/ca.pem"}, ".ca_file: /nowhere/ca.pem cannot be read: No such file or directory"),
        ({"ca_file": __file__}, f".ca_file: {__file__} holds no certificate"),
    ],
)
def test_what_is_missing_is_one_line(changes: dict[str, Any], line: str, tmp_path: Path) -> None:
    """Also of `tracejury validate`, which connects nowhere."""
    config = load_config(None, {"export": {"otlp": [{"name": "a", "endpoint": "https://h:1"} | changes]}})
    with pytest.raises(ConfigError) as caught:
        check_exports(config.export)
    assert str(caught.value).startswith(f"export.otlp.0{line}")
    assert "\n" not in str(caught.value)
    file = tmp_path / "c.yaml"
    file.write_text(f"export: {{otlp: [{{name: a, endpoint: 'https://h:1', {_yaml(changes)}}}]}}\n")
    result = CliRunner().invoke(root, ["validate", str(file)])
    assert result.exit_code != 0
    assert line in result.stderr


def _yaml(changes: dict[str, Any]) -> str:
    ((key, value),) = changes.items()
    text = "".join(f"{{{k}: '{v}'}}" for k, v in value.items()) if isinstance(value, dict) else f"'{value}'"
    return f"{key}: {text}"


def test_binary_metadata_is_base64() -> None:
    """Over gRPC; to HTTP such a name is one like any other."""
    wrong = {"x-bin": SecretStr("not base64!")}
    with pytest.raises(ConfigError, match=r"^export.otlp.0.headers.x-bin: over gRPC its value must be base64"):
        connection_of(backend(headers=wrong, protocol="grpc"), 0)
    assert connection_of(backend(headers=wrong), 0).headers == {"x-bin": "not base64!"}
    assert connection_of(backend(headers={"x-Bin": SecretStr("AAE")}, protocol="grpc"), 0).headers == {"x-Bin": "AAE"}


def test_a_name_that_no_header_can_have_is_refused() -> None:
    """Before a request fails of it."""
    with pytest.raises(ConfigError, match=r"^export.otlp.3.headers: 'a b' is no name of a header$"):
        connection_of(backend(headers={"a b": SecretStr("c")}), 3)


@pytest.mark.parametrize(
    ("endpoint", "protocol", "port", "local"),
    [
        ("http://localhost", "grpc", 4317, True),
        ("http://127.0.0.2:9", "http", 9, True),
        ("https://[::1]", "http", 443, True),
        ("http://example.org", "http", 80, False),
    ],
)
def test_where_a_backend_is(endpoint: str, protocol: Any, port: int, local: bool) -> None:  # noqa: FBT001  a column
    """The port that is meant where none is named."""
    found = backend(endpoint=endpoint, protocol=protocol)
    assert (found.port, found.is_local) == (port, local)
