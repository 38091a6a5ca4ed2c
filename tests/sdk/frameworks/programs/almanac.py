"""What the programs' tool answers with; with HANG set it never does."""

import os
import threading


def look_up(query: str) -> str:
    """An article, whatever the query."""
    if os.environ.get("HANG"):
        threading.Event().wait()
    return f"The Alder Bridge is 312 metres long (asked for: {query})."
