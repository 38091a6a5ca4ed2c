"""Backfill: spans that the OpenTelemetry Collector's ClickHouse exporter has stored, sent over OTLP."""
