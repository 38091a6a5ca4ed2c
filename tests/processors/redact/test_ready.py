"""The ready-made sets: what they take out, and what they must leave."""

from __future__ import annotations

import pytest
from redacting import SECRETS, redacted

TAKEN = [
    ("mail ada@example.org.", "mail [redacted:email]."),
    ("{'to': 'ada@example.org'}", "{'to': '[redacted:email]'}"),
    ("jörg@müller.example", "[redacted:email]"),
    ("git@github.com is no remote here", "[redacted:email] is no remote here"),
    ("call +49 30 901820-0!", "call [redacted:phone]!"),
    ("(415) 555-2671 or 415-555-2671", "[redacted:phone] or [redacted:phone]"),
    ("4111111111111111", "[redacted:card]"),
    ("5500-0000-0000-0004 and 3782 822463 10005", "[redacted:card] and [redacted:card]"),
    ("1234 4111 1111 1111 1111", "1234 [redacted:card]"),
    ("IBAN DE89370400440532013000, GB82 WEST 1234 5698 7654 32", "IBAN [redacted:iban], [redacted:iban]"),
    ("DE89 3704 0044 0532 0130 00 EUR 5", "[redacted:iban] EUR 5"),
    ("AKIAIOSFODNN7EXAMPLE", "[redacted:api-keys]"),
    (f"ghp_{'a1B2' * 9}", "[redacted:api-keys]"),
    ("xoxb-123456789012-abcdefABCDEF", "[redacted:api-keys]"),
    (f"key=AIza{'Sy4' * 12}", "key=[redacted:api-keys]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[redacted:api-keys]"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\nZm9v\n-----END RSA PRIVATE KEY-----\nbye", "[redacted:api-keys]\nbye"),
    (f"-----BEGIN PRIVATE KEY-----\n{'MIIB' * 16}\n{'Zm9v' * 16}\nYmFy… [cut]", "[redacted:api-keys]… [cut]"),
    (repr("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----"), "'[redacted:api-keys]'"),
    ("Bearer abcdefgh12345678", "Bearer [redacted:bearer]"),
    ("authorization: Basic YWRhOnNlc2FtZQ==", "authorization: Basic [redacted:bearer]"),
]
LEFT = [
    "git@github.com:ada/engine.git",
    "npm i left-pad@latest, @scope/name, pkg@1.2.3",
    "4111 1111 1111 1112",  # wrong check digit
    "41111111111111111",  # part of a longer number
    "0af7651916cd43dd8448eb211c80319c",
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "41111111-1111-4111-8111-111111111111",
    "1732350000000000000",
    "1732350000000",
    "2026-11-23T07:22:24.123456789+01:00",
    "order 112-1234567-1234567, invoice 2026-000123, EAN 4006381333931",
    "10.0.0.1:8080 255.255.255.0 v1.22.333.4444",
    "1e+12345678901 x+12345678901",
    "DE89 3704 0044 0532 0130 01",  # wrong check digits
    "AB12 CDEF GHIJ KLMN OPQR",
    "de89370400440532013000",  # hexadecimal digits are lower case, IBANs are not
    "sk-learn-contrib-for-everyone task-sk-nothing",
    "the bearer of responsibilities-and-duties",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "tokens: 4000056655665556123",
]


@pytest.mark.parametrize(("text", "expected"), TAKEN)
def test_taken(text: str, expected: str) -> None:
    """The secret goes, the text around it stays."""
    assert redacted(text) == expected


@pytest.mark.parametrize("text", LEFT)
def test_left(text: str) -> None:
    """Ids, times, numbers without a right check digit, and words are no secrets."""
    assert redacted(text) == text


@pytest.mark.parametrize("name", SECRETS)
def test_each_set_takes_its_example_alone(name: str) -> None:
    """No other set sees it, so each can be switched on alone."""
    assert f"[redacted:{name}]" in (redacted(SECRETS[name]) or "")
