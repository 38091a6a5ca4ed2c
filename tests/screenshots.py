"""Pictures of the pages for the documentation: `make screenshots`, or `python tests/screenshots.py --into FOLDER`.

A collector of its own on free ports, with a clock that shows one moment of 2026, a temporary store, made-up services
(tests/support/gallery*.py) and a scripted model as judge; then each page in headless chromium, 1400 by 900, as a PNG of
at most 256 colours.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

sys.path.insert(0, str(Path(__file__).parent / "support"))

from browsing import CHROMIUM
from gallery_world import Gallery, gallery_world
from PIL import Image
from playwright.async_api import async_playwright, expect

if TYPE_CHECKING:
    from playwright.async_api import Page

NOW = 1_789_400_400_000_000_000
"""14 September 2026, 15:40 UTC."""
SIZE = {"width": 1400, "height": 900}
IMAGES = Path(__file__).parents[1] / "docs" / "images"
COLOURS = 256


@dataclass(frozen=True, slots=True)
class Picture:
    """`path` of the site; `until`: what shows once the page is complete; `scroll`: what is to be in sight."""

    name: str
    path: str
    until: str
    scroll: str = ""
    theme: Literal["light", "dark"] = "light"


async def pictures(world: Gallery) -> list[Picture]:
    """Every page, with something to see on it."""
    wrong = world.latest("help-desk", "never refunded").trace_id
    found = (await world.ask("GET", "/api/errors", params={"trace": wrong, "limit": 50}))["items"]
    worst = next(f for f in found if f["severity"] == "HIGH")
    call = next(f for f in found if f["category"] == "Formatting Errors")
    sessions = (await world.ask("GET", "/api/sessions", params={"severity": "HIGH", "limit": 50}))["items"]
    session = max(sessions, key=lambda s: s["traces"])
    talk = f"/sessions/{session['session_id']}?service={session['service']}"
    assert world.open is not None
    trace = f"/traces/{wrong}?span={worst['span_id']}"
    overview = "#more table"  # what comes last
    return [
        Picture("overview", "/?population=both", overview),
        Picture("overview-dark", "/?population=both", overview, theme="dark"),
        Picture("overview-worst", "/?population=both", overview, scroll="text=Worst agents"),
        Picture("traces", "/traces?severity=MEDIUM", "#list .row-link"),
        Picture("trace", trace, "#panel mark"),
        Picture("trace-live", f"/traces/{world.open.trace_id}", "#trace-errors .jump"),
        Picture("span", f"/spans/{call['span_id']}", "#panel mark"),
        Picture("sessions", "/sessions?service=help-desk", "#list .row-link"),
        Picture("session", talk, ".exchange"),
        Picture("live", "/errors", "#tail .tail-row"),
        Picture("labels", "/labels", "main table"),
        Picture("judges", "/judges", "main table"),
        Picture("judge", "/judges/logical-consistency", "main table"),
        Picture("explain", "/explain/logical-consistency", "main h2"),
    ]


async def take(page: Page, url: str, picture: Picture, into: Path) -> None:
    """Open, wait, shoot; a page that complains of something fails."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await page.emulate_media(color_scheme=picture.theme, reduced_motion="reduce")
    await page.goto(url + picture.path)
    await page.locator(picture.until).first.wait_for()
    await expect(page.locator("[aria-busy], .htmx-request")).to_have_count(0)
    if picture.scroll:
        await page.locator(picture.scroll).first.evaluate("e => e.scrollIntoView({block: 'center'})")
    assert complaints == [], complaints
    shot = await page.screenshot(animations="disabled", caret="hide")
    file = into / f"{picture.name}.png"
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
    sys.stdout.write(f"{file.stat().st_size / 1000:6.1f} kB  {file.name}\n")


async def shoot(into: Path, only: str) -> None:
    """All pictures whose names fit."""
    with tempfile.TemporaryDirectory() as folder:
        async with gallery_world(Path(folder), NOW) as world, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            for picture in await pictures(world):
                if re.search(only, picture.name):
                    page = await browser.new_page(viewport=SIZE)  # type: ignore[arg-type]  # a ViewportSize
                    await take(page, world.url, picture, into)
                    await page.close()
            await browser.close()


def main() -> None:
    """Into docs/images, unless told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=IMAGES)
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--serve", action="store_true", help="leave the collector running instead, until Ctrl-C")
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    asyncio.run(serve() if given.serve else shoot(given.into, given.only))


async def serve() -> None:
    """For looking around."""
    with tempfile.TemporaryDirectory() as folder:
        async with gallery_world(Path(folder), NOW) as world:
            for picture in await pictures(world):
                sys.stdout.write(f"{picture.name}: {world.url}{picture.path}\n")
            sys.stdout.flush()
            await asyncio.Event().wait()


if __name__ == "__main__":
    main()
