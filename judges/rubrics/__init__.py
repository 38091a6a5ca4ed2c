"""Rubrics learned from good and bad sessions: the set, what it makes of strengths, and how it is learned."""
