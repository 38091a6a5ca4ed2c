"""One module a convention; each turns a stored span into a NormalizedSpan."""
