"""The configuration reference as Markdown: `python -m tracejury.collector.cli.config_docs`."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tracejury.collector.config import CollectorConfig
from tracejury.schemas.config_base import nested

HEAD = """# Configuration

`tracejury serve --config FILE` reads one YAML file; every key has a usable default, and a key that is not listed
here is an error. `tracejury validate FILE` checks a file without starting anything. Options of the command line win
over the file. Paths in the file are relative to it, those of the command line to the working directory. This page is
generated from the config classes (`make docs`).
"""


def reference(model: type[BaseModel] = CollectorConfig) -> str:
    """The whole page."""
    return HEAD + "\n" + "\n".join(section("", model)) + "\n"


def section(path: str, model: type[BaseModel], meaning: str = "") -> Iterator[str]:
    """The description of a section, a table of its plain keys, then its subsections."""
    fields, meanings = model.model_fields.items(), docstrings(model)
    plain = [(name, field) for name, field in fields if nested(field) is None]
    if plain:
        yield from (f"## `{path}`" if path else "## Top level", "")
        if meaning:
            yield from (meaning, "")
        yield from ("| key | default | meaning |", "|---|---|---|")
        yield from (row(name, field, meanings.get(name, "")) for name, field in plain)
        yield ""
    for name, field in fields:
        below = nested(field)
        if below is not None:
            yield from section((f"{path}.{name}" if path else name) + several(field), below, meanings.get(name, ""))


def several(field: FieldInfo) -> str:
    """The suffix of the name of a list or mapping of sections; "" for a single one."""
    kind = get_origin(field.annotation)
    return "[]" if kind is tuple else ".*" if kind is dict else ""


def row(name: str, field: FieldInfo, meaning: str) -> str:
    """One key as a table row."""
    # As YAML has it, too.
    default = "required" if field.is_required() else f"`{json.dumps(field.get_default(call_default_factory=True))}`"
    told = meaning.replace("|", "\\|")
    return f"| `{name}` | {default} | {told} |"


def docstrings(model: type[BaseModel]) -> dict[str, str]:
    """The docstrings of a model's fields, by name, on one line. Pydantic's own reading of them slows each start."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__[: model.__mro__.index(BaseModel)]):
        (declared,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        for field, text in pairwise(ast.iter_child_nodes(declared)):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(told))):
                    found[name] = " ".join(told.split())
    return found


if __name__ == "__main__":
    sys.stdout.write(reference())
