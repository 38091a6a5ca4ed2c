"""What leaves the collector: forwarded traces and webhooks."""
