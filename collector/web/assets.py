"""Static files, served from memory; a URL holds a hash of the content, so browsers cache it for good."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import FastAPI, Response

from tracejury.schemas.errors import NotFoundError

from .site import page

TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Media types by suffix; other files of the folder are not served."""
_FOREVER: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file."""

    content: bytes
    media_type: str
    url: str


def load_assets() -> Mapping[str, Asset]:
    """Files of `static/` by path."""
    root = resources.files(__package__) / "static"
    return dict(_read(root, ""))


def _read(folder: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _read(entry, f"{path}/")
        elif media_type := next((kind for end, kind in TYPES.items() if path.endswith(end)), None):
            content = entry.read_bytes()
            digest = hashlib.blake2b(content, digest_size=6).hexdigest()
            found.append((path, Asset(content, media_type, f"/static/{digest}/{path}")))
    return found


def add_assets(app: FastAPI, assets: Mapping[str, Asset]) -> None:
    """Serve static files; a URL with another hash is not found."""
    by_url = {asset.url: asset for asset in assets.values()}

    @page(app, "/static/{digest}/{path:path}")
    async def static(digest: str, path: str) -> Response:
        asset = by_url.get(f"/static/{digest}/{path}")
        if asset is None:
            raise NotFoundError("no such file")
        return Response(asset.content, headers={"Cache-Control": _FOREVER}, media_type=asset.media_type)
