"""Models that API, command line and pages exchange."""
