"""Pure functions over spans: normalise a convention, assemble traces, rebuild agent runs. No I/O, no clock."""
