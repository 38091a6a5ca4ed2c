"""Options of the commands that show measures of sessions."""

from __future__ import annotations

from typing import Final

import click

from tracejury.schemas.figure_filters import MEASURE_FILTERS
from tracejury.schemas.filters import named

from .options import Decorator, combined, filter_options, simulated_option

measures_options: Final[Decorator] = combined(
    filter_options(*named(MEASURE_FILTERS, "pack")),
    click.option(
        "--by",
        multiple=True,
        metavar="service|version|agent|model|task|behaviour|difficulty|domain|mode|attribute:KEY|answer:CHECK",
        help="Tell sessions apart by this; may be given twice.",
        callback=lambda _context, _option, said: ",".join(said),
    ),
    simulated_option,
    click.option("--pooled", is_flag=True, help="Numerators over denominators, not the mean over sessions."),
    click.option("--trials", is_flag=True, help="Figures of tasks that were tried several times."),
    click.option("--k", default="", metavar="K", help="Trials that Max@k, pass@k and pass^k are of (default: 1)."),
    click.option(
        "--threshold", default="", metavar="0..1", help="The least value of a trial that succeeds (default: 1)."
    ),
    click.option("--limit", type=click.IntRange(min=1, max=1000), default=100, show_default=True, help="Groups most."),
)
MEASURES: Final = ("pack", "by", "simulated", "pooled", "trials", "k", "threshold", "limit")
"""The names of these options: parameters of /api/measures."""


def measure_filters(**given: str | bool | int | None) -> dict[str, str]:
    """What is given of options, as parameters of /api/measures."""
    return {name: "true" if value is True else str(value) for name, value in given.items() if value}
