"""Pictures, sound and files of spans on pages: shown safely, or told; each hostile one has an outcome of its own."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import struct
import wave
from collections.abc import Callable, Iterator

import pytest
from browsing import Watched
from PIL import Image
from trace_pages import CALL, MANAGER, TRACE_ID, Pages, a_span, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.trace.media import MAX_SHOWN, MOST_SHOWN, is_shown
from tracejury.processors.media import SpanMedia
from tracejury.schemas.media import media_type, picture_size

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="hit=1"><script>window.hit=1;fetch("/stolen")</script></svg>'
HTML = b"<!doctype html><script>window.hit=1;fetch('/stolen')</script><img src=http://example.org/x>"
BOMB = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 60_000, 60_000, 8, 6, 0, 0, 0) + b"\0" * 40
POLYGLOT = b"GIF89a/*" + b"*/=1;window.hit=1//" + HTML
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def picture(form: str = "PNG", shade: int = 0) -> bytes:
    """A small picture."""
    file = io.BytesIO()
    Image.new("RGB", (640, 320), (shade, 40, 90)).save(file, form)
    return file.getvalue()


def sound() -> bytes:
    """A tenth of a second of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(8000)
        written.writeframes(b"\0\0" * 800)
    return file.getvalue()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def blob(data: bytes, kind: str) -> dict[str, str]:
    """A part of a message with these bytes, whatever they are said to be."""
    return {"type": "blob", "mime_type": kind, "modality": "image", "content": base64.b64encode(data).decode()}


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def put(pages: Pages, *parts: dict[str, str]) -> None:
    """A run whose call was sent these parts."""
    said = [{"role": "user", "parts": [{"type": "text", "content": "What is this?"}, *parts]}]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(said)}
    answer = {"role": "assistant", "parts": [{"type": "text", "content": "A."}]}
    attributes["gen_ai.output.messages"] = json.dumps([answer])
    run = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "looker"}
    spans = [(MANAGER, "", run), (CALL, MANAGER, attributes)]
    pages.put(*(a_span(i, parent, "", "x", 0, 1, attributes=own) for i, parent, own in spans))


def address(data: bytes) -> str:
    return f"/traces/{TRACE_ID}/spans/{CALL}/media/{digest(data)}"


@pytest.mark.parametrize(
    ("data", "stated", "kind", "place"),
    [
        (picture(), "image/svg+xml", "image/png", "inline"),
        (picture("WEBP"), "image/webp", "image/webp", "inline"),
        (sound(), "audio/wav", "audio/wav", "inline"),
        (b"%PDF-1.7 pages", "application/pdf", "application/pdf", "attachment"),
        (SVG, "image/svg+xml", "application/octet-stream", "attachment"),
        (SVG, "image/png", "application/octet-stream", "attachment"),
        (HTML, "application/xhtml+xml", "application/octet-stream", "attachment"),
        (BOMB, "image/png", "application/octet-stream", "attachment"),
    ],
)  # fmt: skip
def test_the_bytes_decide_what_a_browser_may_make_of_them(
    pages: Pages, data: bytes, stated: str, kind: str, place: str
) -> None:
    """With the headers of what nobody may run; the type that the sender states is never sent on."""
    put(pages, blob(data, stated))
    answer = pages.get(address(data))
    assert answer.content == data
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"].startswith(f'{place}; filename="tracejury-{digest(data)[:12]}.')
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"


def test_only_what_the_span_has_is_served(pages: Pages) -> None:
    """By its digest; of another span, trace or digest there is nothing."""
    put(pages, blob(picture(), "image/png"))
    for path in (
        address(b"other"), address(picture()).replace(CALL, MANAGER), address(picture()).replace(TRACE_ID, "f" * 32),
        f"/traces/{TRACE_ID}/spans/{CALL}/media/", f"/traces/{TRACE_ID}/spans/{CALL}/media/..%2f..%2fetc",
    ):  # fmt: skip
        assert pages.get(path).status_code == 404, path


def test_pictures_and_sound_show_and_hostile_ones_run_nothing(
    pages: Pages, open_site: Callable[[str], Watched]
) -> None:
    """In a browser, on a phone and at twice the size: a picture, a sound; SVG, HTML and a bomb are links of words."""
    from playwright.sync_api import expect

    far = {"type": "uri", "modality": "image", "uri": "http://example.org/far.png"}
    put(pages, blob(picture(), "image/png"), blob(sound(), "audio/wav"), blob(SVG, "image/svg+xml"),
        blob(HTML, "image/png"), blob(BOMB, "image/png"), blob(POLYGLOT, "image/gif"), far)  # fmt: skip
    site = open_site(pages.url)
    page = site.page
    for width, zoom in ((1280, 1), (390, 1), (640, 2)):
        page.set_viewport_size({"width": width, "height": 900})
        site.open(f"/traces/{TRACE_ID}?span={CALL}")
        shown = page.locator(f"#at-{CALL}")
        shown.locator("img").scroll_into_view_if_needed()
        expect(shown.locator("img")).to_have_js_property("naturalWidth", 640)
        assert shown.locator("audio").get_attribute("src") == address(sound())
        assert page.evaluate(WIDER) <= 0, (width, zoom)
    text = shown.inner_text()
    assert "image/png, 60000 \u00d7 60000" in text
    assert text.count("not shown") == 4
    assert "not loaded: http://example.org/far.png" in text
    assert page.evaluate("fetch(document.querySelector('audio').src).then((one) => one.status)") == 200
    assert page.evaluate("window.hit === undefined")
    site.check_accessible()
    site.check_quiet()


@pytest.mark.parametrize("data", [SVG, HTML, POLYGLOT])
def test_an_opened_file_is_a_download(pages: Pages, open_site: Callable[[str], Watched], data: bytes) -> None:
    """A browser that is led to it renders nothing."""
    put(pages, blob(data, "image/png"))
    site = open_site(pages.url)
    site.open(f"/traces/{TRACE_ID}?span={CALL}")
    link = site.page.get_by_role("link", name="download", exact=True)
    with site.page.expect_download() as started:
        link.click()
    assert started.value.suggested_filename.startswith("tracejury-")
    assert site.page.evaluate("window.hit === undefined")
    site.check_quiet()


def test_a_view_shows_a_bounded_number(pages: Pages) -> None:
    """Further ones are links; what the call before was sent is not shown again."""
    put(pages, *(blob(picture(shade=shade), "image/png") for shade in range(MOST_SHOWN + 3)))
    page = pages.get(f"/traces/{TRACE_ID}", span=CALL).text
    assert page.count(f'<img src="/traces/{TRACE_ID}/spans/') == MOST_SHOWN
    assert page.count(">download</a>") == 3


@pytest.mark.parametrize("size", [(1, 16_385), (16_385, 1), (5_001, 5_000), (0, 5)])
def test_pixels_are_bounded(size: tuple[int, int]) -> None:
    """Each side and all of it."""
    data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", *size)
    assert media_type(data) == "image/png"
    assert not is_shown(SpanMedia("image/png", "", "", len(data), digest(data), "", picture_size(data)))


def test_bytes_are_bounded() -> None:
    """A page is no place for films."""
    assert is_shown(SpanMedia("audio/wav", "", "", MAX_SHOWN, "d"))
    assert not is_shown(SpanMedia("audio/wav", "", "", MAX_SHOWN + 1, "d"))
