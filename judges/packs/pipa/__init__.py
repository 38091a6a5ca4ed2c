"""PIPA: how an interactive agent works towards a task, in five measures of a session."""
