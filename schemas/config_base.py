"""The base of all sections of the configuration file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from .errors import ConfigError
from .profiles import threshold

MIB: Final = 1 << 20
VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""The form of an environment variable in a value."""
Seconds = Annotated[float, Field(gt=0)]


def known_profile(value: str) -> str:
    """The name of a profile, a number from 0 to 1, or "".

    Raises:
        ValueError: it is none.
    """
    try:
        threshold(value or "0")
    except ConfigError as error:
        raise ValueError(str(error)) from None
    return value


Profile = Annotated[str, AfterValidator(known_profile)]


class Section(BaseModel):
    """Frozen; unknown keys and infinite numbers are refused. Errors do not repeat values, which may be secrets."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class FilePath:
    """Marks a key that holds a path or several, which in a configuration file are relative to it.

    `names`: values that are no paths.
    """

    names: tuple[str, ...] = ()

    def beside(self, value: Any, folder: PurePath) -> Any:
        """The value as read from a file in `folder`, which is absolute."""
        if isinstance(value, list):
            return [self.beside(each, folder) for each in value]
        return str(folder / value) if isinstance(value, str) and value and value not in self.names else value


def paths_beside(data: Any, section: type[BaseModel], folder: PurePath) -> Any:
    """The data of a section, as read from a file in `folder`, with its paths absolute."""
    if not isinstance(data, dict):
        return data
    found = dict(data)
    for name, field in section.model_fields.items():
        kind, value = nested(field), data.get(name)
        if mark := next((each for each in field.metadata if isinstance(each, FilePath)), None):
            found |= {name: mark.beside(value, folder)} if name in data else {}
        elif kind is not None and isinstance(value, list):
            found[name] = [paths_beside(each, kind, folder) for each in value]
        elif kind is not None and isinstance(value, dict):
            of_many = get_origin(field.annotation) is dict
            found[name] = (
                {key: paths_beside(each, kind, folder) for key, each in value.items()}
                if of_many
                else paths_beside(value, kind, folder)
            )
    return found


def nested(field: FieldInfo) -> type[BaseModel] | None:
    """The section class of a field, or None for a plain value."""
    kinds = (field.annotation, *get_args(field.annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)
