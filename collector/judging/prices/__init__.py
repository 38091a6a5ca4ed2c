"""The cost of the agents' own LLM calls: as their spans state it, else by their tokens and the model's price."""

from .spent import SpentBy

__all__ = ["SpentBy"]
