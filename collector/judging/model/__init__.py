"""Language models for the judges: litellm behind the client protocol, an answer cache, a budget, our own spans."""
