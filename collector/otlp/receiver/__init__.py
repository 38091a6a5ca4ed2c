"""OTLP receivers: gRPC and HTTP in front, one decoder and one status table behind."""
