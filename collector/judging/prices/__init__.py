"""What the agents' own LLM calls cost: as their spans state it, else by their tokens and the model's price."""

from .spent import SpentBy

__all__ = ["SpentBy"]
