"""SCOPE: good and bad sessions by rubrics learned from labelled ones, and the situations of TRACE."""
