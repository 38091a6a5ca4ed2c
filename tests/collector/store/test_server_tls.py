"""A ClickHouse server over TLS: its certificate is checked, and ours is shown where it asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from clickhouse_http import clickhouse_server
from papers import Papers

from tracejury.collector.store.client import Store
from tracejury.schemas.errors import ConfigError


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    return Papers(tmp_path)


@pytest.fixture
def at(store_folder: Path, papers: Papers) -> Iterator[str]:
    """A server that asks for a certificate, without options."""
    with clickhouse_server(store_folder, papers.server(papers.issue(), asks=True)) as server:
        yield f"clickhouses://default@localhost:{server.server_port}/default"


def test_both_sides_show_their_certificates(at: str, papers: Papers) -> None:
    """Options of the DSN name the files."""
    pair = papers.issue("client")
    store = Store.open(f"{at}?ca_cert={papers.ca}&client_cert={pair.cert}&client_cert_key={pair.key}")
    assert store.rows("SELECT 1") == [(1,)]
    store.close()


def test_a_server_of_another_authority_is_not_trusted(at: str, papers: Papers, tmp_path: Path) -> None:
    """One line says why."""
    other, pair = Papers(tmp_path, "other"), papers.issue("client")
    for ca in ("", f"ca_cert={other.ca}&"):
        with pytest.raises(ConfigError, match=r"(?i)certificate verify failed") as caught:
            Store.open(f"{at}?{ca}client_cert={pair.cert}&client_cert_key={pair.key}")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", ["ca_cert", "client_cert", "client_cert_key"])
def test_a_missing_file_is_named_with_its_option(at: str, papers: Papers, option: str) -> None:
    """Before anything is connected."""
    pair = papers.issue("client")
    files = {"ca_cert": str(papers.ca), "client_cert": str(pair.cert), "client_cert_key": str(pair.key)}
    query = "&".join(f"{name}={path}" for name, path in (files | {option: "/nowhere/x.pem"}).items())
    with pytest.raises(ConfigError, match=f"{option}: /nowhere/x[.]pem cannot be read: No such file or directory"):
        Store.open(f"{at}?{query}")
