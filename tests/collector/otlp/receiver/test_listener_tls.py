"""The certificate of a listener: errors that name file and setting, and renewal without a restart."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from papers import Papers, replace
from pydantic import ValidationError

from tracejury.collector.otlp.receiver.tls import ListenerTls
from tracejury.collector.otlp.receiver.tls_config import TlsConfig
from tracejury.schemas.errors import ConfigError


@pytest.fixture
def papers(tmp_path: Path) -> Papers:
    return Papers(tmp_path)


def listener(**paths: str) -> ListenerTls:
    """Of the section `grpc.tls`."""
    return ListenerTls(TlsConfig(**paths), "grpc.tls")


def pem(key: Any, encryption: Any = None) -> bytes:
    """A private key as it stands in a file."""
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))


def refusal(**paths: str) -> str:
    """The error that these files give."""
    with pytest.raises(ConfigError) as caught:
        listener(**paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("setting", ["cert", "key", "client_ca"])
def test_a_missing_file_is_named_with_its_setting(papers: Papers, setting: str) -> None:
    """Which of the files it is, and where it is named."""
    paths = {**papers.issue().paths, "client_ca": str(papers.ca), setting: "/nowhere/x.pem"}
    assert refusal(**paths) == f"grpc.tls.{setting}: /nowhere/x.pem cannot be read: No such file or directory"


@pytest.mark.parametrize("setting", ["cert", "key", "client_ca"])
def test_a_file_that_is_no_pem_is_named(papers: Papers, tmp_path: Path, setting: str) -> None:
    """It is read as nothing else."""
    other = tmp_path / "other.txt"
    other.write_text("nothing of the kind")
    text = refusal(**{**papers.issue().paths, "client_ca": str(papers.ca), setting: str(other)})
    assert text.startswith(f"grpc.tls.{setting}: {other} holds no ")


def test_a_key_of_another_certificate_is_refused(papers: Papers) -> None:
    """Of the same kind of key, and of another kind."""
    pair, other = papers.issue(), papers.issue("other")
    assert refusal(cert=str(pair.cert), key=str(other.key)) == (
        f"grpc.tls.key: {other.key} is not the key of the certificate in {pair.cert}"
    )


def test_a_key_of_another_kind_is_refused(papers: Papers, tmp_path: Path) -> None:
    """An RSA key for a certificate of an elliptic curve."""
    pair, rsa = papers.issue(), tmp_path / "rsa.pem"
    rsa.write_bytes(pem(generate_private_key(65537, 2048)))
    assert "is not the key of the certificate in" in refusal(cert=str(pair.cert), key=str(rsa))


def test_an_encrypted_key_is_refused_and_nobody_is_asked(papers: Papers, tmp_path: Path) -> None:
    """A service has no terminal: OpenSSL would wait for one."""
    pair, locked = papers.issue(), tmp_path / "locked.pem"
    key = load_pem_private_key(pair.key.read_bytes(), None)
    locked.write_bytes(pem(key, BestAvailableEncryption(b"secret")))
    assert refusal(cert=str(pair.cert), key=str(locked)).startswith(f"grpc.tls.key: {locked} is encrypted")


def test_a_section_needs_both_files() -> None:
    """Certificate and key belong together."""
    with pytest.raises(ValidationError):
        TlsConfig(cert="a.pem")  # type: ignore[call-arg]


def test_an_expired_certificate_is_a_warning_at_start(papers: Papers, caplog: pytest.LogCaptureFixture) -> None:
    """Who starts with it may have no other; clients refuse it anyway."""
    pair = papers.issue(expired=True)
    assert listener(**pair.paths).current().complaint == "certificate has expired"
    assert f"grpc.tls.cert: {pair.cert}: clients will refuse it: certificate has expired" in caplog.text


def test_a_key_that_everybody_can_read_is_a_warning(papers: Papers, caplog: pytest.LogCaptureFixture) -> None:
    """And one that only its owner can read is none."""
    pair = papers.issue()
    listener(**pair.paths)
    assert not caplog.records
    pair.key.chmod(0o644)
    listener(**pair.paths)
    assert f"grpc.tls.key: {pair.key} can be read by every user" in caplog.text


def test_a_renewed_certificate_is_used_at_once(papers: Papers, caplog: pytest.LogCaptureFixture) -> None:
    """One line says so; nothing is read again until the files change."""
    pair = papers.issue()
    tls = listener(**pair.paths)
    first = tls.current()
    assert tls.current() is first
    papers.issue()
    with caplog.at_level(logging.INFO):
        assert tls.current().cert == pair.cert.read_bytes() != first.cert
        tls.current()
    assert [record.getMessage().partition(", valid")[0] for record in caplog.records] == [
        "grpc.tls: a new certificate is in use"
    ]


@pytest.mark.parametrize("broken", ["missing", "garbage", "other key", "expired"])
def test_a_bad_new_certificate_keeps_the_one_before(
    papers: Papers, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    """One line says so, however many connections come; a good one after it is used."""
    pair = papers.issue()
    tls = listener(**pair.paths)
    first = tls.current()
    match broken:
        case "missing":
            pair.cert.unlink()
        case "garbage":
            replace(pair.cert, b"-----BEGIN CERTIFICATE-----\n")
        case "other key":
            replace(pair.key, papers.issue("other").key.read_bytes())
        case _:
            papers.issue(expired=True)
    assert tls.current() is tls.current() is first
    assert len(caplog.records) == 1
    assert "grpc.tls." in caplog.text
    assert "the certificate before it stays in use" in caplog.text
    papers.issue()
    assert tls.current().cert == pair.cert.read_bytes()


def test_clients_of_a_removed_authority_are_not_trusted_any_more(papers: Papers, tmp_path: Path) -> None:
    """A context only ever adds to what it trusts: each renewal makes a new one."""
    other = Papers(tmp_path, "other")
    trusted = tmp_path / "clients.pem"
    replace(trusted, papers.ca.read_bytes() + other.ca.read_bytes())
    tls = listener(**papers.issue().paths, client_ca=str(trusted))
    assert len(tls.current().context.get_ca_certs()) == 2
    replace(trusted, papers.ca.read_bytes())
    assert len(tls.current().context.get_ca_certs()) == 1
    assert tls.current().client_ca == papers.ca.read_bytes()
