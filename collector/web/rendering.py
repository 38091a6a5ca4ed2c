"""The template environment: everything is escaped, and undefined names are errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tracejury.schemas.taxonomy import with_group
from tracejury.schemas.text.scores import score_words

from .assets import Asset
from .filters import FILTERS
from .links import session_link, trace_link


def make_templates(assets: Mapping[str, Asset], explained: Callable[[str], Any], version: str) -> Environment:
    """The environment over `templates/`. `explained` finds a term of the glossary, or None."""
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(FILTERS)
    environment.filters["json"] = partial(json.dumps, separators=(",", ":"))
    environment.globals.update(score_words=score_words)
    environment.globals.update(session_link=session_link, trace_link=trace_link, with_group=with_group)
    environment.globals.update(asset=lambda path: assets[path].url, explained=explained, version=version)
    return environment
