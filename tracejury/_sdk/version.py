"""The version of both distributions that hold this package: it is that of tracejury."""

__version__ = "0.1.0"
