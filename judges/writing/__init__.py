"""Texts that models write and verify: prompts, answers, and the conversations about one unit each. Pure."""
