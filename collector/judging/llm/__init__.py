"""LLM judging: selects runs, queues them, asks the model and stores the outcome, on threads of its own."""
