"""Bodies off the wire."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.receiver.http_app import Gunzip, read_body
from tracejury.collector.otlp.receiver.inflight import InFlight
from tracejury.schemas.config_base import MIB
from tracejury.schemas.errors import OverloadedError, PermanentError, TooLargeError


async def read(*chunks: bytes, gzipped: bool = False, limit: int = MIB, inflight: InFlight | None = None) -> bytes:
    """Read a body that arrives in these chunks."""

    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    with (inflight or InFlight(1, 10 * MIB)).request() as held:
        return await read_body(stream(), gzipped=gzipped, limits=Limits(request_bytes=limit), request=held)


@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=4), at=st.integers(min_value=1, max_value=50))
async def test_gzip_members_in_any_chunks(parts: list[bytes], at: int) -> None:
    """Several members one after the other are one body, wherever the network cuts them."""
    raw = b"".join(gzip.compress(part) for part in parts)
    chunks = [raw[n : n + at] for n in range(0, len(raw), at)]
    assert await read(*chunks, gzipped=True) == b"".join(parts)


async def test_padding_after_a_member_is_ignored() -> None:
    """As gunzip does."""
    assert await read(gzip.compress(b"x") + bytes(9), bytes(9), gzipped=True) == b"x"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "ends early"),
        (gzip.compress(b"hello")[:-1], "ends early"),
        (gzip.compress(b"hello")[:5], "ends early"),
        (b"no gzip at all", "is not gzip"),
        (gzip.compress(b"hello") + b"rest", "is not gzip"),
        (gzip.compress(b"hello")[:-8] + bytes(8), "is not gzip"),
    ],
    ids=["empty", "cut at the end", "cut in the head", "plain", "with a rest", "wrong checksum"],
)
async def test_broken_gzip_is_refused_for_good(body: bytes, message: str) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(PermanentError, match=message):
        await read(body, gzipped=True)


@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize(("size", "refused"), [(99, False), (100, False), (101, True)])
async def test_the_limit_holds_after_decompression(gzipped: bool, size: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """Below, at and above."""
    body = gzip.compress(bytes(size)) if gzipped else bytes(size)
    if refused:
        with pytest.raises(TooLargeError):
            await read(body, gzipped=gzipped, limit=100)
    else:
        assert await read(body, gzipped=gzipped, limit=100) == bytes(size)


def test_a_bomb_is_never_held_in_memory() -> None:
    """However small the compressed body, what comes out at one time is bounded."""
    pieces = Gunzip().feed(gzip.compress(bytes(64 * MIB)))
    assert {len(next(pieces)) for _ in range(32)} == {MIB}


async def test_bytes_are_given_back() -> None:
    """After success and after a refusal nothing stays counted."""
    inflight = InFlight(1, 100)
    await read(bytes(60), inflight=inflight)
    assert (inflight.requests, inflight.bytes) == (0, 0)
    with pytest.raises(OverloadedError):
        await read(bytes(60), bytes(60), inflight=inflight)
    assert (inflight.requests, inflight.bytes) == (0, 0)
