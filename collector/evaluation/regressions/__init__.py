"""Cases of one step each, made from errors: the step's LLM call is issued again, and its new answers are judged."""
