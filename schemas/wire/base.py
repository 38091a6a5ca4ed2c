"""The base of the models that API, command line and pages exchange.

Keys are only ever added. Ids that there are not are null, never ""; times are ISO 8601 in UTC with microseconds.
"""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from tracejury.schemas.text.moments import iso_time


class WireModel(BaseModel):
    """An immutable JSON object. Nested models are also filled from objects with attributes of the same names."""

    model_config = ConfigDict(frozen=True, from_attributes=True, defer_build=True)


Model = TypeVar("Model", bound=WireModel)
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A number that keeps its notation: 0 stays 0 and 0.0 stays 0.0 on the way through a client."""
OptionalText = Annotated[str | None, BeforeValidator(lambda value: None if value == "" else value)]
"""Text that is null instead of ""."""
Time = Annotated[str | None, BeforeValidator(lambda value: iso_time(value) if isinstance(value, int) else value)]
"""A point in time as ISO 8601, also given in unix nanos; null where it is unknown."""


Item = TypeVar("Item", bound=WireModel)


class Page(WireModel, Generic[Item]):
    """A page of a list; `next` goes into `cursor`, null on the last page.

    `unknown`, where nothing was found: filters whose value is in no stored data, with known values, the nearest first.
    """

    items: list[Item]
    next: str | None
    unknown: dict[str, list[str]]


def fill(model: type[Model], source: object, **fields: object) -> Model:
    """A `model` of `fields`; its other fields are the attributes of `source` that have their names."""
    others = {name: getattr(source, name) for name in model.model_fields if name not in fields}
    return model(**others, **fields)
