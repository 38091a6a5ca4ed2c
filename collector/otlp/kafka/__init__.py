"""Kafka between receivers and workers (docs/kafka.md): a `Sink` that produces, and a receiver that consumes."""
