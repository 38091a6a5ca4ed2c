"""Quick making of instances of a frozen dataclass of many fields, of which every span needs some."""

from __future__ import annotations

from dataclasses import Field, field, fields, make_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


def maker(cls: type[T]) -> type[T]:
    """What makes instances of a frozen dataclass with slots, called like the class itself.

    `dataclass` lets a frozen class set each field by a call of `object.__setattr__`: five times the time that a class
    takes that is not frozen. So it is one of those, with the same slots, that is filled here; then the instance is
    given the frozen class, as Python allows it between classes of the same slots.
    """

    def freeze(made: Any) -> None:
        made.__class__ = cls

    fillable = make_dataclass(
        cls.__name__,
        [(f.name, f.type, _as_declared(f)) for f in fields(cast("Any", cls))],
        namespace={"__post_init__": freeze},
        slots=True,
    )
    return cast("type[T]", fillable)


def _as_declared(of: Field[Any]) -> Field[Any]:
    copied: Field[Any] = field(default=of.default, default_factory=of.default_factory)
    return copied
