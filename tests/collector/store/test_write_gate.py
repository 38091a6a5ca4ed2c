"""The gate before statements that write."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tracejury.collector.store.write_gate import WriteGate

ROUNDS = 300


def test_nobody_writes_while_it_is_closed() -> None:
    """Writers pass side by side; whoever closes the gate is alone."""
    gate, inside, ends = WriteGate(), set[object](), threading.Event()
    most = 0

    def write() -> None:
        nonlocal most
        while not ends.is_set():
            token = object()
            with gate.writing():
                inside.add(token)
                most = max(most, len(inside))
                time.sleep(0)  # another thread may go on here
                inside.discard(token)

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write) for _ in range(3)]
        closers = [pool.submit(lambda: [alone(gate, inside) for _ in range(ROUNDS)])]
        try:
            for closer in closers:
                assert closer.result() == [True] * ROUNDS
        finally:
            ends.set()
        for writer in writers:
            writer.result()
    assert most > 0


def alone(gate: WriteGate, inside: set[object]) -> bool:
    assert gate.close(60)
    try:
        return not inside
    finally:
        gate.open()


def test_a_long_statement_keeps_nobody_out() -> None:
    """The gate is not closed then, and others pass."""
    gate = WriteGate()
    with gate.writing():
        assert not gate.close(0)
        with gate.writing():
            pass
    assert gate.close(0)
    gate.open()


def test_an_error_of_a_statement_lets_it_close() -> None:
    """It is not taken for one that is under way."""
    gate = WriteGate()
    with pytest.raises(ZeroDivisionError), gate.writing():
        raise ZeroDivisionError
    assert gate.close(0)
