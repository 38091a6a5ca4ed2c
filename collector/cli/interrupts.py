"""Ctrl-C where a shell has it ignored."""

from __future__ import annotations

import signal
import threading


def heed_ctrl_c() -> None:
    """Have SIGINT raise KeyboardInterrupt: a shell's background job inherits it as ignored, and Python leaves it so."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
