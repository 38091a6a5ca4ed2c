"""The page of one trace: its outline, its tree and timeline, the details of a span, the span as it was sent."""
