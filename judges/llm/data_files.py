"""Users' YAML and JSON files as models, and YAML for people. What is wrong is one line, with the file and the key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.shown import shown_line

from .problems import place_of, told

MOST_BYTES: Final = 256 * 1024
"""A larger file holds no criteria."""
MOST_PROBLEMS: Final = 3
"""Of a file, that are told."""

Read = TypeVar("Read", bound=BaseModel)


def read_model(file: Traversable, kind: type[Read], context: Mapping[str, Any] | None = None) -> Read:
    """The model that a file holds. `context`: of its validators.

    Raises:
        ConfigError: what is wrong in it, in one line.
    """
    return model_of(read_data(file), kind, str(file), context)


def model_of(data: Any, kind: type[Read], place: str, context: Mapping[str, Any] | None = None) -> Read:
    """The model of `data`. `place`: begins the line on what is wrong; `context`: of its validators.

    Raises:
        ConfigError: what is wrong in it, in one line.
    """
    try:
        return kind.model_validate(data, context=context)
    except ValidationError as error:
        raise ConfigError(f"{place}: {problems_of(error, data)}") from None


def read_data(file: Traversable, *, most_bytes: int = MOST_BYTES, holds: str = "criteria") -> Any:
    """The content of a YAML file, or a JSON file by its name.

    Raises:
        ConfigError: it cannot be read, or is larger than what `holds` names can be, or is not YAML or JSON.
    """
    kind = "JSON" if file.name.endswith(".json") else "YAML"
    try:
        raw = file.read_bytes()
        if len(raw) > most_bytes:
            raise ConfigError(f"{file} is too large for {holds}: {len(raw)} bytes, at most {most_bytes}")
        text = raw.decode("utf-8")
        return json.loads(text) if kind == "JSON" else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ConfigError(f"{file} is not YAML: {where}{error.problem or error.context}"[:400]) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{file} is not {kind}: {' '.join(str(error).split())}"[:400]) from None


class _Dumper(yaml.SafeDumper):
    """Quotes texts with odd line breaks, which are read back as other ones where they stand plainly."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        """A text as a node: of several lines as it is, where that can be."""
        style = '"' if _ODD_BREAKS.search(text) else "|" if "\n" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style)


_ODD_BREAKS: Final = re.compile("[\r\x85\u2028\u2029]")
_Dumper.add_representer(str, _Dumper.represent_text)


def yaml_of(data: Any, *, rows: bool = False) -> str:
    """Data as YAML for people, which is read back as it is. `rows`: innermost lists and mappings take a line each."""
    flow = None if rows else False
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100, default_flow_style=flow)


def problems_of(error: ValidationError, data: Any = None) -> str:
    """The first problems in one line, with their places; unknown keys first, as they explain missing ones.

    What is wrong with a list because its items are is not told beside these. Of `data`, entries of lists are named.
    """
    found = error.errors(include_url=False, include_context=False)
    within = {p["loc"][:depth] for p in found for depth in range(len(p["loc"]))}
    listed = sorted((p for p in found if p["loc"] not in within), key=lambda p: p["type"] != "extra_forbidden")
    first = listed[:MOST_PROBLEMS]
    lines = [f"{place_of(p)}: {told(p)}{_entry(data, p['loc'])}".removeprefix(": ") for p in first]
    more = f" (and {len(listed) - len(lines)} more)" if len(listed) > len(lines) else ""
    return "; ".join(lines) + more


def _entry(data: Any, keys: Iterable[int | str]) -> str:
    """The name of the innermost entry of a list on the way to a problem, where entries have names."""
    name = ""
    for key in keys:
        try:
            data = data[key]
        except (LookupError, TypeError):
            break
        if isinstance(key, int) and isinstance(data, dict) and isinstance(data.get("name"), str):
            name = data["name"]
    return f" (in {shown_line(name, 60)!r})" if name else ""
