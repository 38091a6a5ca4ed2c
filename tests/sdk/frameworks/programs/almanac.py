"""What the programs' tool answers with; with HANG set it never does, with FAILS it raises.

With GATE set, from the fourth call on it waits until there is a file of that name.
"""

import os
import threading
import time
from itertools import count

_numbers = count(1)


def look_up(query: str) -> str:
    """An article, whatever the query."""
    if os.environ.get("HANG"):
        threading.Event().wait()
    gate = os.environ.get("GATE")
    while next(_numbers) >= 4 and gate and not os.path.exists(gate):  # noqa: PTH110 - a program of the shortest kind
        time.sleep(0.05)
    if os.environ.get("FAILS"):
        raise ValueError("the almanac has no page 312")
    return f"The Alder Bridge is 312 metres long (asked for: {query})."
