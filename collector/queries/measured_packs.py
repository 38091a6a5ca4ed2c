"""The packs of the installation as their measures are read."""

from __future__ import annotations

from functools import cache

from tracejury.judges.packs.grades import grades_pack
from tracejury.judges.packs.loader import known_packs
from tracejury.judges.packs.pack_types import Pack
from tracejury.judges.packs.sources import STATES
from tracejury.schemas.queries.measures import MeasuredPack, PackMeasure


@cache
def installed_packs() -> tuple[MeasuredPack, ...]:
    """The grades, and all packs of the installation, whether they are switched on or not."""
    packs, _ = known_packs()
    return (grades_pack(), *map(_pack, packs))


def _pack(pack: Pack) -> MeasuredPack:
    states = next((check.name for check in pack.checks if check.items is STATES), "")
    measures = {
        check.measure: PackMeasure(
            check.measure, check.name, check.title, check.definition, check.averaged, check.validates
        )
        for check in pack.checks
    }
    success = measures.get(pack.success or "")
    return MeasuredPack(pack.name, pack.title, tuple(measures.values()), states, success, pack.figures)
