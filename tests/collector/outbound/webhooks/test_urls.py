"""Where a webhook may point."""

from __future__ import annotations

import pytest

from tracejury.collector.outbound.webhooks.urls import checked_url, is_refused


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.0.1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "100.100.100.200",
        "168.63.129.16", "192.0.0.192", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1",
        "169.254.170.2", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "64:ff9b:1::a9fe:a9fe",
        "::169.254.169.254", "::ffff:0:a9fe:a9fe", "fd12::5efe:a9fe:a9fe", "fd12::200:5efe:a9fe:a9fe",
        "2001:0:a9fe:a9fe::1", "2001:0:102:304:0:1234:5601:5601",
    ],
)  # fmt: skip
def test_addresses_that_are_refused(address: str) -> None:
    """Link-local, metadata of clouds, nowhere, everybody; also inside an IPv6 address that leads there."""
    assert is_refused(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "10.1.2.3",
        "192.168.0.9",
        "fd12::1",
        "93.184.216.34",
        "2606:2800::1",
        "::ffff:10.0.0.1",
        "64:ff9b::808:808",
        "::10.0.0.1",
    ],
)
def test_addresses_that_are_allowed(address: str) -> None:
    """Receivers stand on this machine, in its network, or on the internet."""
    assert not is_refused(address)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "https://example.com/hook?token=1", "http://[::1]:80/"])
def test_urls_that_are_taken(url: str) -> None:
    """As they are."""
    assert checked_url(url) == url


@pytest.mark.parametrize(
    "url",
    ["ftp://x/", "file:///etc/passwd", "gopher://x", "http://", "example.com", "http://u:p@x/", "http://x:99999/",
     "http://x/\r\nHost: y", "http://x/ä", "http://[::1", ""],
)  # fmt: skip
def test_urls_that_are_refused_without_being_repeated(url: str) -> None:
    """The value may hold a token."""
    with pytest.raises(ValueError, match=r".") as caught:
        checked_url(url)
    assert len(url) < 8 or url not in str(caught.value)
