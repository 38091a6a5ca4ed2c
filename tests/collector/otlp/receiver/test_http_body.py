"""Bodies off the wire."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator, Callable

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.receiver.decompress import CODINGS, PIECE, Decompressor
from tracejury.collector.otlp.receiver.http_app import read_body
from tracejury.collector.otlp.receiver.inflight import InFlight
from tracejury.schemas.config_base import MIB
from tracejury.schemas.errors import OverloadedError, PermanentError, TooLargeError

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
}


def test_every_coding_is_tried_here() -> None:
    """And no other."""
    assert set(COMPRESS) == {"", *CODINGS}


async def read(*chunks: bytes, coding: str = "", limit: int = MIB, inflight: InFlight | None = None) -> bytes:
    """Read a body that arrives in these chunks."""

    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    with (inflight or InFlight(1, 10 * MIB)).request() as held:
        return await read_body(stream(), coding=coding, limits=Limits(request_bytes=limit), request=held)


@given(
    parts=st.lists(st.binary(max_size=300), min_size=1, max_size=4),
    at=st.integers(min_value=1, max_value=50),
    coding=st.sampled_from(["gzip", "zstd"]),
)
async def test_streams_in_any_chunks(parts: list[bytes], at: int, coding: str) -> None:
    """Several streams one after the other are one body, wherever the network cuts them."""
    raw = b"".join(map(COMPRESS[coding], parts))
    chunks = [raw[n : n + at] for n in range(0, len(raw), at)]
    assert await read(*chunks, coding=coding) == b"".join(parts)


@given(body=st.binary(max_size=300), at=st.integers(min_value=1, max_value=50), level=st.integers(0, 9))
async def test_deflate_in_any_chunks(body: bytes, at: int, level: int) -> None:
    """The zlib format, of any level."""
    raw = zlib.compress(body, level)
    assert await read(*[raw[n : n + at] for n in range(0, len(raw), at)], coding="deflate") == body


@given(noise=st.binary(max_size=80), cut=st.integers(0, 60), coding=st.sampled_from(CODINGS))
async def test_any_bytes_are_read_or_refused_for_good(noise: bytes, cut: int, coding: str) -> None:
    """Noise alone, and behind the beginning of a good body: nothing else is ever raised."""
    for body in (noise, COMPRESS[coding](b"hello" * 9)[:cut] + noise):
        try:
            assert len(await read(body, coding=coding)) <= MIB
        except (PermanentError, TooLargeError) as refusal:
            assert coding in str(refusal) or "larger than" in str(refusal)  # noqa: PT017 - both outcomes are right


async def test_padding_after_a_member_is_ignored() -> None:
    """As gunzip does."""
    assert await read(gzip.compress(b"x") + bytes(9), bytes(9), coding="gzip") == b"x"


async def test_skippable_frames_are_skipped() -> None:
    """RFC 8878, 3.1.2: a magic number, a length, and what is no content."""
    skippable = bytes.fromhex("502a4d18") + (3).to_bytes(4, "little") + b"abc"
    assert await read(skippable + zstd.compress(b"x") + skippable, coding="zstd") == b"x"


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda _: b"", "ends early"),
        (lambda whole: whole[:-1], "ends early"),
        (lambda whole: whole[:5], "ends early"),
        (lambda _: b"not compressed at all", "is not {}"),
        (lambda whole: whole + b"rest of it", "is not {}"),
    ],
    ids=["empty", "cut at the end", "cut in the head", "plain", "with a rest"],
)
async def test_a_broken_body_is_refused_for_good(coding: str, spoil: Callable[[bytes], bytes], message: str) -> None:
    """Whatever is wrong with it."""
    with pytest.raises(PermanentError, match=message.format(coding)):
        await read(spoil(COMPRESS[coding](b"hello")), coding=coding)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"hello")[:-8] + bytes(8)),
        ("deflate", zlib.compress(b"hello")[:-4] + bytes(4)),
        ("deflate", zlib.compress(b"hello") + bytes(4)),
        ("zstd", zstd.compress(b"hello", options={zstd.CompressionParameter.checksum_flag: 1})[:-4] + bytes(4)),
    ],
    ids=["gzip", "zlib", "padded zlib", "zstd"],
)
async def test_a_wrong_checksum_is_refused_for_good(coding: str, body: bytes) -> None:
    """And padding where the format has none."""
    with pytest.raises(PermanentError, match=f"is not {coding}"):
        await read(body, coding=coding)


async def test_a_window_larger_than_8_mib_is_refused() -> None:
    """Its memory is allocated before a byte comes out."""
    for log, refused in ((23, False), (24, True), (27, True)):
        compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: log})
        body = compressor.compress(b"x" * 100) + compressor.flush()
        if refused:
            with pytest.raises(PermanentError, match="window of at most 8 MiB"):
                await read(body, coding="zstd")
        else:
            assert await read(body, coding="zstd") == b"x" * 100


@pytest.mark.parametrize("coding", COMPRESS)
@pytest.mark.parametrize(("size", "refused"), [(99, False), (100, False), (101, True)])
async def test_the_limit_holds_after_decompression(coding: str, size: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """Below, at and above."""
    body = COMPRESS[coding](bytes(size))
    if refused:
        with pytest.raises(TooLargeError):
            await read(body, coding=coding, limit=100)
    else:
        assert await read(body, coding=coding, limit=100) == bytes(size)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_never_held_in_memory(coding: str) -> None:
    """However small the compressed body, what comes out at one time is bounded."""
    pieces = Decompressor(coding).feed(COMPRESS[coding](bytes(64 * MIB)))
    assert {len(next(pieces)) for _ in range(32)} == {PIECE}


async def test_bytes_are_given_back() -> None:
    """After success and after a refusal nothing stays counted."""
    inflight = InFlight(1, 100)
    await read(bytes(60), inflight=inflight)
    assert (inflight.requests, inflight.bytes) == (0, 0)
    with pytest.raises(OverloadedError):
        await read(bytes(60), bytes(60), inflight=inflight)
    assert (inflight.requests, inflight.bytes) == (0, 0)
