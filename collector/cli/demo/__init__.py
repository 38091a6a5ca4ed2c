"""`tracejury demo`: a small agent program of our own, sent through the OpenTelemetry SDK like anybody's."""
