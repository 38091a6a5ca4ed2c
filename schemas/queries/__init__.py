"""Questions to the read models and their answers, as data."""
