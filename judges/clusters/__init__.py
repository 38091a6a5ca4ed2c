"""Clusters of errors, the names of their types, and texts that are made of these. Pure."""
