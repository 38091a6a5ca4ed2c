"""LLM judges: criteria as data, prompts, answers, evidence, policy. Pure: calls go through a small client protocol."""
