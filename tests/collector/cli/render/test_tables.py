"""Tables on terminals of any width: a line a row where that fits, else a block a row, never a folded cell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from tracejury.collector.cli.render.tables import plain_table

CELLS = st.text(st.sampled_from("abc [/]b1"), min_size=1, max_size=60).map(lambda text: f"x{text.strip()}")


def shown(rows: list[list[str]], width: int) -> str:
    """The table as a terminal of that width shows it."""
    table = plain_table("id", "severity", "what")
    for name, severity, what in rows:
        table.add_row(name, Text(severity), what)
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_a_narrow_terminal_has_a_block_a_row() -> None:
    """The first cell alone, short ones with their names, long ones on lines of their own."""
    row = ["5d5ebfd5ea216f10", "HIGH", "Answer invented after a failed look-up"]
    assert shown([row], 80).splitlines()[0].split() == ["id", "severity", "what"]
    assert [line.rstrip() for line in shown([row], 60).splitlines()] == [
        "5d5ebfd5ea216f10",
        "  severity HIGH",
        "  what Answer invented after a failed look-up",
    ]


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(75, 220))
def test_no_word_is_folded(rows: list[list[str]], width: int) -> None:
    """Whatever a cell says stands on one line, at each width that holds the longest cell with its name."""
    lines = shown(rows, width).splitlines()
    assert all(any(cell in line for line in lines) for row in rows for cell in row)
