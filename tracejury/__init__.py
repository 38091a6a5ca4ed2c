"""tracejury: an OpenTelemetry collector that judges AI agents while they run."""

__version__ = "0.1.0"
