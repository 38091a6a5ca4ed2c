"""The base of all sections of the configuration file."""

from __future__ import annotations

import re
from typing import Annotated, Final, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from .errors import ConfigError
from .profiles import threshold

MIB: Final = 1 << 20
VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""The form of an environment variable in a value."""
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


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
    """Frozen; unknown keys are refused. Errors do not repeat values, which may be secrets."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def nested(field: FieldInfo) -> type[BaseModel] | None:
    """The section class of a field, or None for a plain value."""
    kinds = (field.annotation, *get_args(field.annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)
