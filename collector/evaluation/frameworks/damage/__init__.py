"""A ladder of damage: captures of agent frameworks with a part of their telemetry lost or written otherwise.

Each rung is a pure function from a `Recording` to the `Batch` that a damaged sender would have sent, None where it
does not apply to that capture. What a rung destroys is not expected back: `measure.py` asks the damaged export, by the
rules of `stated.py`, which sides of a call and which failures it still tells of.
"""
