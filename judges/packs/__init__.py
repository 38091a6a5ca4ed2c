"""Packs: checks as data with the formulas of their measures, and what tells them of the task of a session."""
