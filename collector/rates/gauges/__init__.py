"""What Prometheus is told of error rates, findings, spend and disk."""
