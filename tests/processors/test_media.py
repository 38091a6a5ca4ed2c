"""Pictures, sound and files in spans, in all the forms in which conventions and APIs write them."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trajectories import span

from tracejury.processors.media import MOST, media_of
from tracejury.schemas.spans import LogRecord, SpanEvent
from tracejury.schemas.text.media_marks import HASH_LENGTH, marked_hashes, without_base64

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x44\xac\0\0"
DOCUMENT = b"%PDF-1.7 some pages"
PICTURE, SOUND, FILE = (base64.b64encode(data).decode() for data in (PNG, WAV, DOCUMENT))
URL = f"data:image/png;base64,{PICTURE}"
BARE = base64.urlsafe_b64encode(PNG).decode().rstrip("=")
LINES = base64.encodebytes(PNG).decode()
FAR = "https://example.org/x.png"

SENT = {
    "GenAI blob": ({"type": "blob", "modality": "image", "mime_type": "image/png", "content": PICTURE}, PNG),
    "OpenAI picture": ({"type": "image_url", "image_url": {"url": URL}}, PNG),
    "OpenAI sound": ({"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}}, WAV),
    "OpenAI file": (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{FILE}"}}, DOCUMENT,
    ),
    "Responses picture": ({"type": "input_image", "image_url": URL}, PNG),
    "Responses file": ({"type": "input_file", "filename": "a.pdf", "file_data": FILE}, DOCUMENT),
    "Responses made": ({"type": "image_generation_call", "result": PICTURE}, PNG),
    "Anthropic picture": (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}, PNG,
    ),
    "Anthropic file": (
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": FILE}}, DOCUMENT,
    ),
    "Gemini": ({"inlineData": {"mimeType": "image/png", "data": PICTURE}}, PNG),
    "Gemini, Python": ({"inline_data": {"mime_type": "audio/wav", "data": SOUND}}, WAV),
    "Bedrock": ({"image": {"format": "png", "source": {"bytes": PICTURE}}}, PNG),
    "MCP": ({"type": "audio", "data": SOUND, "mimeType": "audio/wav"}, WAV),
    "MCP resource": ({"type": "resource", "resource": {"blob": FILE, "mimeType": "application/pdf"}}, DOCUMENT),
    "Vercel picture": ({"type": "image", "image": PICTURE, "mediaType": "image/png"}, PNG),
    "Vercel file": ({"type": "file", "data": FILE, "mediaType": "application/pdf"}, DOCUMENT),
    "in a text": ({"type": "text", "text": f"![a chart]({URL})"}, PNG),
    "at the end of a sentence": ({"type": "text", "text": f"Look at {URL}."}, PNG),
    "in lines": ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{LINES}"}}, PNG),
    "in lines of a text": ({"type": "text", "text": f"data:image/png;base64,{LINES}and words"}, PNG),
    "with white space around": ({"type": "blob", "modality": "image", "content": f" {LINES}\n"}, PNG),
    "in capitals": ({"type": "image_url", "image_url": f"DATA:IMAGE/PNG;BASE64,{PICTURE}"}, PNG),
    "without a type": ({"type": "image_url", "image_url": f"data:;base64,{PICTURE}"}, PNG),
    "with parameters": (
        {"type": "image_url", "image_url": f'data:image/png;name="a b.png"; charset=utf-8; base64, {PICTURE}'}, PNG,
    ),
    "escaped as in addresses": (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{quote(PICTURE, safe='')}"}}, PNG,
    ),
    "for addresses, without padding": (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BARE}"}}, PNG,
    ),
    "said to be a text": ({"type": "blob", "mime_type": "text/html", "content": PICTURE}, PNG),
}  # fmt: skip
ELSEWHERE = {
    "GenAI uri": ({"type": "uri", "modality": "image", "uri": FAR}, FAR),
    "GenAI file": ({"type": "file", "modality": "image", "file_id": "file-1"}, "file-1"),
    "OpenAI": ({"type": "image_url", "image_url": {"url": FAR}}, FAR),
    "Responses": ({"type": "input_image", "image_url": FAR}, FAR),
    "Anthropic": ({"type": "image", "source": {"type": "url", "url": FAR}}, FAR),
    "Bedrock": ({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/x.png"}}}}, "s3://b/x.png"),
    "Gemini": ({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/x.png"}}, "gs://bucket/x.png"),
    "Vercel": ({"type": "image", "image": FAR}, FAR),
}


def messages(*parts: Any) -> dict[str, str]:
    """An attribute with a message of these parts."""
    return {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": parts}])}


@pytest.mark.parametrize("name", SENT)
def test_what_was_sent_is_found(name: str) -> None:
    """Once, with its type by its bytes, and its digest."""
    part, data = SENT[name]
    (found,) = media_of(span("s", attributes=messages(part, part)))
    assert found.data == data
    assert found.digest == hashlib.sha256(data).hexdigest()
    assert found.kind == {PNG: "image/png", WAV: "audio/wav", DOCUMENT: "application/pdf"}[data]
    assert found.size == len(data)
    assert found.pixels == ((1, 1) if data is PNG else None)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_elsewhere_is_named(name: str) -> None:
    """By its address or id."""
    part, place = ELSEWHERE[name]
    (found,) = media_of(span("s", attributes=messages(part)))
    assert (found.elsewhere, found.digest, found.data) == (place, "", b"")


def test_a_file_that_is_a_data_url_has_its_name() -> None:
    """And its stated type by the URL."""
    (found,) = media_of(span("s", attributes=messages(SENT["OpenAI file"][0])))
    assert (found.name, found.stated) == ("a.pdf", "application/pdf")


@given(
    st.binary(min_size=48, max_size=400),
    st.sampled_from(["data:image/png;base64,", "DATA:IMAGE/PNG;BASE64,", "data:;base64,", "data:a/b;c=d; base64, "]),
    st.sampled_from([base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes]),
    st.booleans(),
)
def test_a_judge_is_told_the_same_hash(data: bytes, head: str, encode: Callable[[bytes], bytes], bare: bool) -> None:  # noqa: FBT001  hypothesis
    """A picture is found by the mark that stands for it in texts."""
    encoded = encode(PNG + data).decode()
    text = f"<{head}{encoded.rstrip().rstrip('=') if bare else encoded}>"
    (found,) = media_of(span("s", attributes={"text": text}))
    assert (found.data, marked_hashes(without_base64(text))) == (PNG + data, [found.digest[:HASH_LENGTH]])


def test_flat_keys_events_and_log_records_are_read() -> None:
    """OpenInference's attributes, older events of messages, and records of them."""
    key = "llm.input_messages.0.message.contents.0.message_content.image.image.url"
    flat = {key: FAR, key.replace(".0.message_content", ".1.message_content"): URL}
    assert [(one.kind, one.elsewhere) for one in media_of(span("s", attributes=flat))] == [("", FAR), ("image/png", "")]
    told = messages(SENT["MCP"][0])
    event = SpanEvent(1, "gen_ai.user.message", {"content": json.dumps(SENT["OpenAI picture"][0])})
    found = media_of(span("s", events=(event,)), [LogRecord("t", "s", 1, 1, attributes=told)])
    assert [one.kind for one in found] == ["image/png", "audio/wav"]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text", "text": "the image of data:, and image/png;base64,"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Wordsinoneword12"}},
        {"type": "file", "content": "this is the content of a file in plain words"},
        {"source": {"url": FAR}, "document": {"url": FAR}},
        {"type": "blob", "content": "bm9uc2Vuc2Ugb2Ygbm8ga2luZA=="},
        {"results": [{"url": FAR, "image_count": 3}]},
    ],
)
def test_texts_and_data_of_other_kinds_are_no_files(value: Any) -> None:
    """Words, links of results, base64 of which nobody says what it is."""
    assert media_of(span("s", attributes=messages(value))) == []


def test_what_the_sender_says_does_not_count() -> None:
    """Markup that claims to be a picture has no kind; it keeps the claim as such."""
    svg = base64.b64encode(b"<svg onload='hit()'/>" * 2).decode()
    parts = (
        {"type": "blob", "mime_type": "image/png", "content": svg},
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml,%3Csvg%20onload='x'"}},
    )
    found = media_of(span("s", attributes=messages(*parts)))
    assert [(one.kind, one.stated) for one in found] == [("", "image/png"), ("", "image/svg+xml")]


def test_the_number_is_bounded() -> None:
    """A span may hold any number of addresses."""
    parts = [{"type": "uri", "modality": "image", "uri": f"{FAR}?{n}"} for n in range(3 * MOST)]
    assert len(media_of(span("s", attributes=messages(*parts)))) == MOST


JSON = st.recursive(
    st.none() | st.text(max_size=20) | st.sampled_from([URL, PICTURE, FAR, "image", "file"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "data", "source", "image_url", "url", "file", "mimeType"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_nothing_raises(value: Any) -> None:
    """Whatever stands where a part is expected."""
    for one in media_of(span("s", attributes=messages(value))):
        assert bool(one.digest) != bool(one.elsewhere)
